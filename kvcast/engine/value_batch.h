#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcast/base/time.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/client/memory_regions.h"
#include "kvcast/client/value_outcome.h"

namespace kvcast {

using BatchId = uint64_t;

// One value of a batch. A lookup has no use for a place.
struct ValueItem {
  std::span<const std::byte> key;  // 1 to 1,024 bytes of the engine's; or a name of 32.
  RegionId region = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// What an engine asks of a store at once.
struct ValueBatch {
  enum class Kind : uint8_t { kLookup, kPut, kGet };

  Kind kind = Kind::kLookup;
  std::span<const ValueItem> items;
  Instant deadline;
  bool keys_are_names = false;  // As ValueStore::Chain() gives them.
  std::string_view salt{};      // Keeps these names apart from all others.
  Durability durability = Durability::kMemory;
};

struct ValueResult {
  ValueOutcome outcome = ValueOutcome::kPending;
  uint64_t length = 0;  // Of a value that was looked up and is held.
};

}  // namespace kvcast
