#pragma once

#include <cstdint>

#include "kvcast/base/time.h"

namespace kvcast {

// How long to wait for the next look at what is in doubt, after so many: each time four times as
// long, since what does not come back soon comes back late.
constexpr Duration LookDelay(Duration first, uint32_t looks) {
  constexpr Duration kLongest = std::chrono::hours(6);
  Duration delay = first;
  for (uint32_t i = 0; i < looks && delay < kLongest; ++i) {
    delay *= 4;
  }
  return delay < kLongest ? delay : kLongest;
}

}  // namespace kvcast
