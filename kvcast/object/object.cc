#include "kvcast/object/object.h"

namespace kvcast {

bool Object::ConsistentWith(const Object& other) const {
  return location == other.location && subgroup == other.subgroup && priority == other.priority &&
         forwarding == other.forwarding && status == other.status &&
         properties.Immutable() == other.properties.Immutable() && payload == other.payload;
}

}  // namespace kvcast
