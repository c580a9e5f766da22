#pragma once

#include <cstdint>
#include <string>

#include "kvcast/moqt/fault.h"
#include "kvcast/object/location.h"
#include "kvcast/object/properties.h"

// What the draft demands of properties where they arrive. Unknown ones are kept and passed on as
// they came; those with a meaning must keep to it.
namespace kvcast::moqt {

inline constexpr uint8_t kDefaultPriority = 128;

// Session fault: pairs that cannot be read, or a value outside what the draft allows. Track fault:
// immutable properties that are not in order.
Decoded<Properties> ReadTrackProperties(std::string encoded);

// The same for an object, whose gaps must not reach below zero, and which carries no property that
// only tracks may have.
Decoded<Properties> ReadObjectProperties(std::string encoded, Location location);

// Whether a track demands to be understood in a way that we do not know: it must then be refused.
bool HasUnknownMandatory(const Properties& track);

// The priority of objects that do not say their own.
uint8_t DefaultPriorityOf(const Properties& track);

}  // namespace kvcast::moqt
