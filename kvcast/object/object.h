#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/bytes.h"
#include "kvcast/object/location.h"
#include "kvcast/object/properties.h"

namespace kvcast {

// What MoQT says instead of a payload, numbered as it numbers them.
enum class ObjectStatus : uint8_t { kNormal = 0, kEndOfGroup = 3, kEndOfTrack = 4 };

// How the publisher sent it, which a relay must keep.
enum class Forwarding : uint8_t { kSubgroup, kDatagram };

// What MoQT carries: whole, immutable, named by its track and location.
//
// Every field of the header is kept, also those that mean nothing to us: a node that restarts must
// answer for an object as truthfully as the publisher did.
struct Object {
  Location location;
  uint64_t subgroup = 0;
  uint8_t priority = 128;
  Forwarding forwarding = Forwarding::kSubgroup;
  ObjectStatus status = ObjectStatus::kNormal;
  Properties properties;
  Bytes payload;

  // Whether both may be the same object. Two that stand at one location of one track and are not
  // consistent make the track malformed. Mutable properties may differ: relays may change them.
  bool ConsistentWith(const Object& other) const;

  // How many right before it, of its group, do not exist, as it says itself. What reaches below 0,
  // or is more than a tier keeps with an object, is not said this way.
  uint32_t AbsentBefore() const;
  // Where these would stand; absent: there are none.
  std::optional<LocationRange> GapBefore() const;
};

}  // namespace kvcast
