#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/kv/rung.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Blocks that follow each other in the prompt as in one track: one fetch brings them.
struct LoadRun {
  TrackName track;
  Rung rung = Rung::kBf16;
  uint64_t first_group = 0;
  size_t first_block = 0;
  size_t block_count = 0;
  uint64_t bytes = 0;  // As the catalog has it.

  uint64_t last_group() const { return first_group + block_count - 1; }
  size_t end_block() const { return first_block + block_count; }
  friend bool operator==(const LoadRun&, const LoadRun&) = default;
};

}  // namespace kvcast
