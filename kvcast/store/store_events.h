#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/object/durability.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/read_desk.h"

namespace kvcast {

// What was to be written has reached a level, or never will: then nothing of it is promised.
struct StoreWritten {
  StoreTicket ticket = 0;
  Durability level = Durability::kMemory;
  std::optional<Error> error;
};
// Absent: not to be had within the patience. It is not evidence of anything.
struct StoreRead {
  StoreTicket ticket = 0;
  std::optional<StoredObject> found;
  std::vector<TierTrial> trials{};  // Where it is absent: which tiers were to read it.
};
// What the tiers hold of a group is not what it was.
struct StoreMoved {
  EvictedGroup group;
};
// A tier has come to be ready, with what it held.
struct StoreTierReady {
  size_t tier = 0;
};
// Something of a group was read whose track lets nothing be kept for ever: none of it may be kept
// longer than this.
struct StoreDue {
  EvictedGroup group;
  uint64_t left_ms = 0;
};
// A tier has a whole group that was not put here.
struct StoreArrived {
  ListedGroup group;
};
// All that a tier was told of a track, or of the end of a group, is durable there now.
struct StoreTold {
  TrackName track;
  std::optional<uint64_t> group{};
};
using StoreEvent = std::variant<StoreWritten, StoreRead, StoreMoved, StoreTierReady, StoreDue,
                                StoreArrived, StoreTold>;

}  // namespace kvcast
