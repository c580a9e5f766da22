#include "kvcast/object/object.h"

#include <algorithm>

namespace kvcast {

bool Object::ConsistentWith(const Object& other) const {
  return location == other.location && subgroup == other.subgroup && priority == other.priority &&
         forwarding == other.forwarding && status == other.status &&
         properties.Immutable() == other.properties.Immutable() && payload == other.payload;
}

uint32_t Object::AbsentBefore() const {
  if (properties.empty()) {
    return 0;
  }
  const std::optional<Property> gap = properties.Find(property::kPriorObjectIdGap);
  const uint64_t most = std::min<uint64_t>(location.object, UINT32_MAX);
  return gap && gap->number <= most ? static_cast<uint32_t>(gap->number) : 0;
}

std::optional<LocationRange> Object::GapBefore() const {
  const uint32_t absent = AbsentBefore();
  if (absent == 0) {
    return std::nullopt;
  }
  return LocationRange{{location.group, location.object - absent},
                       {location.group, location.object - 1}};
}

}  // namespace kvcast
