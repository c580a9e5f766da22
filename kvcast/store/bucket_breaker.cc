#include "kvcast/store/bucket_breaker.h"

#include <algorithm>

namespace kvcast {

void BucketBreaker::OpenIfDue(Instant now) {
  if (open_ || failures_ == 0) {
    return;
  }
  if (failures_ >= options_.failures || now - first_failure_ >= options_.patience) {
    open_ = true;
    ++opened_count_;
    next_probe_ = now + options_.probe_every;
  }
}

bool BucketBreaker::Allow(Instant now) {
  OpenIfDue(now);
  if (!open_) {
    return true;
  }
  if (now < next_probe_) {
    return false;
  }
  next_probe_ = now + options_.probe_every;
  return true;
}

void BucketBreaker::OnSuccess() {
  failures_ = 0;
  open_ = false;
}

void BucketBreaker::OnFailure(Instant now) {
  first_failure_ = failures_ == 0 ? now : first_failure_;
  ++failures_;
  OpenIfDue(now);
}

Duration RetryDelay(uint32_t attempt, Duration first, Duration most, Random& random) {
  const Duration full = std::min(most, first * (int64_t{1} << std::min(attempt, 20u)));
  return full / 2 +
         Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(full.count()) / 2 + 1)));
}

}  // namespace kvcast
