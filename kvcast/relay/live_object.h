#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast::relay {

// An object that has just come, on its way to whoever subscribed.
struct LiveObject {
  const Object& object;
  // The object before it on the stream that brought it: between them the subgroup has none.
  std::optional<uint64_t> previous;
  bool first_of_subgroup = false;
  // The stream that brings it has the group's last object; one that came alone is the last itself.
  bool ends_group = false;
  Instant since{};                        // When it came.
  std::span<const LocationRange> gaps{};  // What it says does not exist.
};

}  // namespace kvcast::relay
