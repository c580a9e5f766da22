#pragma once

#include <string>

#include "kvcast/base/json.h"

namespace kvcast {

// JSON as the program prints it: indented, with a line end. Names of files may hold any bytes and
// JSON may not, so what is not UTF-8 becomes U+FFFD.
std::string JsonText(const Json& json);

}  // namespace kvcast
