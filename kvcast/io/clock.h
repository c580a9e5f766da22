#pragma once

#include <chrono>
#include <string>

#include "kvcast/base/time.h"

namespace kvcast {

// The only place where kvcast reads a clock. Everything else is handed the time.

// For deadlines and durations: never goes back, and stands for nothing outside this machine.
Instant Now();

// The time of day, for people and for comparing with files. It jumps when somebody sets the clock,
// so nothing is ever timed with it.
using WallTime = std::chrono::sys_time<Duration>;
WallTime WallNow();

// "2031-05-04T03:02:01.123Z", in UTC.
std::string ToIso8601(WallTime time);

}  // namespace kvcast
