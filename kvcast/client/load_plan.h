#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/client/cache_kind.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Blocks that follow each other in the prompt as in one track: one fetch brings them.
struct LoadRun {
  TrackName track;
  uint64_t first_group = 0;
  size_t first_block = 0;
  size_t block_count = 0;
  uint64_t bytes = 0;  // As the catalog has it.

  uint64_t last_group() const { return first_group + block_count - 1; }
  friend bool operator==(const LoadRun&, const LoadRun&) = default;
};

// What to ask for, and where, to have as many blocks of a prompt as there are without a hole. A
// value: it knows what an index knew, and a block that has gone since costs one failed fetch.
class LoadPlan {
 public:
  // The blocks from `first_block` on: an engine has those before. In as few runs as possible.
  static LoadPlan Of(const PrefixIndex& index, std::span<const BlockHash> blocks,
                     const CacheKind& kind, size_t first_block = 0);

  Rung rung() const { return rung_; }
  bool empty() const { return runs_.empty(); }
  size_t first_block() const { return first_block_; }
  size_t end_block() const { return first_block_ + block_count(); }
  size_t block_count() const;
  uint64_t bytes() const;
  std::span<const LoadRun> runs() const { return runs_; }  // In the prompt's order.

 private:
  Rung rung_ = Rung::kBf16;
  size_t first_block_ = 0;
  std::vector<LoadRun> runs_;
};

}  // namespace kvcast
