#pragma once

#include <string>

namespace kvcast {

// "0.1.0", as the build system knows it.
extern const char kVersionText[];
inline std::string Version() { return kVersionText; }

}  // namespace kvcast
