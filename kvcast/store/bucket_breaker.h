#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"

namespace kvcast {

// Leaves a bucket alone that does not answer: whoever wants something of it is told so at once,
// and one request a second finds out whether it is back.
class BucketBreaker {
 public:
  struct Options {
    uint32_t failures = 5;                        // In a row, or
    Duration patience = std::chrono::seconds(2);  // one, and no success for so long.
    Duration probe_every = std::chrono::seconds(1);
  };

  BucketBreaker() : BucketBreaker(Options{}) {}
  explicit BucketBreaker(const Options& options) : options_(options) {}

  // Whether a request may be sent now. While it is open, true is the probe, and is said once in a
  // while.
  bool Allow(Instant now);
  // Whether Allow() would say no.
  bool Refuses(Instant now) const { return open_ && now < next_probe_; }
  void OnSuccess();
  void OnFailure(Instant now);

  bool open() const { return open_; }
  // When the next probe may be sent. REQUIRES: open().
  Instant next_probe() const { return next_probe_; }
  uint64_t opened_count() const { return opened_count_; }

 private:
  void OpenIfDue(Instant now);

  Options options_;
  bool open_ = false;
  uint32_t failures_ = 0;
  Instant first_failure_{};
  Instant next_probe_{};
  uint64_t opened_count_ = 0;
};

// How long to wait before attempt number `attempt` + 1: twice as long each time, up to a bound, and
// less than that by chance, so that those who failed together do not come back together.
Duration RetryDelay(uint32_t attempt, Duration first, Duration most, Random& random);

}  // namespace kvcast
