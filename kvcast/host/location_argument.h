#pragma once

#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/object/location.h"

namespace kvcast {

// Locations as a person types them: "3/17" is object 17 of group 3, "3" the beginning of group 3.
Result<Location> ParseLocation(std::string_view text);

// "3" all of a group, "3-5" of some groups, "3/2-5/7" from one object to another (both included),
// "3/2" one object, "3-" from there to the end.
Result<LocationRange> ParseLocationRange(std::string_view text);

}  // namespace kvcast
