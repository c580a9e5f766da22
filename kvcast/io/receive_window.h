#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kvcast/base/time.h"

namespace kvcast {

// How many bytes a peer may send ahead of what has been taken, on a stream or in all. It doubles
// while it is what holds the peer up: while half of it is taken in less than two round trips, or,
// as long as it is small, in so little time that the round trip need not be known.
//
// The round trip is the shortest that was seen. One that waited in queues would let the window
// grow until the queues are full, and bytes that lie in them longest are those that no cache holds
// any more: on loopback that costs a tenth of the goodput.
class ReceiveWindow {
 public:
  // What is small, and what is little.
  static constexpr uint64_t kSmallBytes = 4 * 1024 * 1024;
  static constexpr Duration kSoon = std::chrono::milliseconds(20);

  ReceiveWindow(uint64_t bytes, uint64_t bytes_max)
      : bytes_(bytes), bytes_max_(std::max(bytes, bytes_max)) {}

  // So many bytes were taken, and the peer may send as many more. True if half of the window was,
  // and Grow() is to be called; until then, time and round trip need not be known.
  bool Take(uint64_t taken) {
    taken_ += taken;
    return taken_ >= bytes_ / 2;
  }
  // How many the peer may send beyond that, now that it grew, by `most` at most.
  uint64_t Grow(Instant now, Duration round_trip, uint64_t most = UINT64_MAX) {
    const Duration soon =
        bytes_ < kSmallBytes ? std::max<Duration>(2 * round_trip, kSoon) : 2 * round_trip;
    const bool holds_up = since_ && now - *since_ < soon;
    const uint64_t more = holds_up ? std::min({bytes_, bytes_max_ - bytes_, most}) : 0;
    bytes_ += more;
    taken_ = 0;
    since_ = now;
    return more;
  }

  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  uint64_t bytes_max_;
  uint64_t taken_ = 0;            // Since then. The first half of a window tells nothing: it may
  std::optional<Instant> since_;  // have been there before anybody looked.
};

}  // namespace kvcast
