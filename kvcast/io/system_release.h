#pragma once

#include <string>

namespace kvcast {

// "Linux 6.1.0-18-amd64 (x86_64)"
std::string SystemRelease();

}  // namespace kvcast
