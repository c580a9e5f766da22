#pragma once

#include <cstdint>
#include <string>

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/track_traits.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/properties.h"

// What the draft demands of properties where they arrive. Unknown ones are kept and passed on as
// they came; those with a meaning must keep to it.
namespace kvcast::moqt::draft18 {

// Session fault: pairs that cannot be read, or a value outside what the draft allows. Track fault:
// immutable properties that are not in order.
Decoded<Properties> ReadTrackProperties(std::string encoded);

// The same for an object, whose gaps must not reach below zero, and which carries no property that
// only tracks may have.
Decoded<Properties> ReadObjectProperties(std::string encoded, Location location);

// The status that a number stands for; a violation if none.
Decoded<ObjectStatus> StatusOf(uint64_t number);

TrackTraits TraitsOf(const Properties& track);

}  // namespace kvcast::moqt::draft18
