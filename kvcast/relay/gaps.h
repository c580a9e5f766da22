#pragma once

#include <vector>

#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast::relay {

// What does not exist, as an object says of what stands before it: whole groups, and objects of its
// own group. What no publisher can mean is left out.
std::vector<LocationRange> GapsBefore(const Object& object);

}  // namespace kvcast::relay
