#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// How much before an object does not exist, as the object itself says. Properties are searched for
// it once, when the object comes: it travels with the object from there.
struct PriorGaps {
  std::optional<uint64_t> groups;   // Whole groups before its own.
  std::optional<uint64_t> objects;  // Of its own group.

  // What reaches below 0 is left out: no publisher can mean it.
  static PriorGaps Of(const Object& object);
  // Where nothing stands, if the object stands here.
  std::vector<LocationRange> Before(Location at) const;
};

}  // namespace kvcast::moqt
