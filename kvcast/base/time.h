#pragma once

#include <chrono>
#include <cstdint>

namespace kvcast {

using Duration = std::chrono::nanoseconds;

// Says what an Instant counts from: when its owner started. It has no now(), so that pure code
// cannot ask for the time; only `io` makes instants, and tests and `sim` make up their own.
struct Monotonic {
  using rep = int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};

// A moment, for deadlines and ages. Never compare instants of two processes.
using Instant = Monotonic::time_point;

}  // namespace kvcast
