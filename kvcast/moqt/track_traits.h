#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/moqt/parameters.h"

namespace kvcast::moqt {

inline constexpr uint8_t kDefaultPriority = 128;

// What a track's properties mean to a session. Those that mean nothing to us are passed on as they
// are.
struct TrackTraits {
  uint8_t default_priority = kDefaultPriority;  // Of objects that do not say their own.
  GroupOrder group_order = GroupOrder::kAscending;
  uint64_t object_delivery_timeout_ms = 0;  // 0: none, as for the next.
  uint64_t subgroup_delivery_timeout_ms = 0;
  std::optional<uint64_t> max_cache_ms;
  bool dynamic_groups = false;
  // The track demands to be understood in a way that we do not know: it must be refused.
  bool unknown_mandatory = false;
};

}  // namespace kvcast::moqt
