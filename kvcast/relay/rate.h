#pragma once

#include <algorithm>
#include <cstdint>

#include "kvcast/base/time.h"

namespace kvcast::relay {

// So many a second, and so many at once after a pause. It owns no clock: time comes in.
class Rate {
 public:
  Rate(uint64_t per_second, uint64_t burst)
      : per_second_(per_second), burst_(burst), left_(static_cast<double>(burst)) {}

  // From now on so many, and so many at once: what is left of them stays, as far as it may.
  void Set(uint64_t per_second, uint64_t burst, Instant now) {
    Refill(now);
    per_second_ = per_second;
    burst_ = burst;
    left_ = std::min(left_, static_cast<double>(burst));
  }

  // Whether one more is within the bound; it is counted if it is. Nothing is bounded by zero a
  // second.
  bool Take(Instant now) {
    if (per_second_ == 0) {
      return true;
    }
    Refill(now);
    if (left_ < 1) {
      return false;
    }
    left_ -= 1;
    return true;
  }
  // How long it takes until there is one again.
  Duration Wait(Instant now) {
    Refill(now);
    if (per_second_ == 0 || left_ >= 1) {
      return Duration::zero();
    }
    const double seconds = (1 - left_) / static_cast<double>(per_second_);
    return std::chrono::ceil<Duration>(std::chrono::duration<double>(seconds));
  }
  bool full(Instant now) const { return LeftAt(now) >= static_cast<double>(burst_); }

 private:
  double LeftAt(Instant now) const {
    const double seconds = std::chrono::duration<double>(std::max(now, at_) - at_).count();
    return std::min(static_cast<double>(burst_),
                    left_ + seconds * static_cast<double>(per_second_));
  }
  void Refill(Instant now) {
    left_ = LeftAt(now);
    at_ = std::max(at_, now);
  }

  uint64_t per_second_;
  uint64_t burst_;
  double left_;
  Instant at_{};
};

}  // namespace kvcast::relay
