#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/object/object.h"

namespace kvcast::relay {

// An object that has just come, on its way to whoever subscribed.
struct LiveObject {
  const Object& object;
  // The object before it on the stream that brought it: between them the subgroup has none.
  std::optional<uint64_t> previous;
  bool first_of_subgroup = false;
  bool ends_group = false;  // The stream that brings it has the group's last object.
};

}  // namespace kvcast::relay
