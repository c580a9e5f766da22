#pragma once

#include <chrono>

namespace kvcast::tinylm {

using Duration = std::chrono::steady_clock::duration;
using Instant = std::chrono::steady_clock::time_point;

inline Instant Now() { return std::chrono::steady_clock::now(); }

}  // namespace kvcast::tinylm
