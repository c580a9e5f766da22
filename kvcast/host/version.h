#pragma once

#include <string>

#include "kvcast/base/json.h"
#include "kvcast/engine/version.h"

namespace kvcast {

// "kvcast 0.1.0", and what else is worth knowing in a report of a problem: how it was built, and
// which versions of other libraries run in this process.
std::string VersionReport();
// The same for programs.
Json VersionJson();

}  // namespace kvcast
