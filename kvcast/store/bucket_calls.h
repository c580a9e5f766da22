#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/store/bucket.h"
#include "kvcast/store/bucket_breaker.h"

namespace kvcast {

struct BucketCallCounts {
  uint64_t requests = 0;
  uint64_t retries = 0;
  uint64_t failures = 0;  // Requests that failed, whether or not they were tried again.
};

// What a tier wants of its bucket, each until it has been done or its time is over: tries again
// with growing delays, and lets the breaker decide what is sent at all.
class BucketCalls {
 public:
  using Id = uint64_t;
  enum class Urgency : uint8_t { kReader, kWriter, kHousekeeping };
  struct Terms {
    Urgency urgency = Urgency::kHousekeeping;
    Instant give_up{};           // No later than this it has ended.
    Duration attempt{};          // What one request may take.
    Duration delay{};            // Before the first retry.
    uint32_t tries = 0;          // At most; 0: as many as there is time for.
    uint32_t damaged_tries = 0;  // The same, of those that came damaged.
  };
  struct Ended {
    Id id = 0;
    BucketCompletion completion;  // With the last error, if there was one.
    uint32_t attempts = 0;        // Requests that were sent.
  };

  static constexpr size_t kRequestsMax = 64;  // Under way at the same time.

  explicit BucketCalls(uint64_t seed) : random_(seed) {}

  Id Start(BucketRequest request, const Terms& terms);

  void OnCompletion(BucketCompletion completion, Instant now);
  // Ends what has no time left.
  void OnTime(Instant now);
  // What is to be sent now, the most urgent first.
  std::vector<BucketRequest> TakeRequests(Instant now);
  std::vector<Ended> TakeEnded();
  std::optional<Instant> deadline() const;

  const BucketBreaker& breaker() const { return breaker_; }
  bool idle() const { return calls_.empty(); }
  BucketCallCounts counts() const { return counts_; }
  // The last error of any request, for a person.
  const std::string& last_error() const { return last_error_; }

 private:
  struct Call {
    BucketRequest request;
    Terms terms;
    uint32_t attempts = 0;
    uint32_t damaged = 0;  // Of these.
    Instant not_before{};
    BucketToken token = 0;  // While it is under way.
    std::optional<BucketError> error;
  };
  using Key = std::pair<Urgency, Id>;

  void End(Id id, uint32_t attempts, BucketCompletion completion);

  BucketBreaker breaker_;
  Random random_;
  std::map<Key, Call> calls_;
  std::map<BucketToken, Key> under_way_;
  Id last_id_ = 0;
  BucketToken last_token_ = 0;
  std::vector<Ended> ended_;
  BucketCallCounts counts_;
  std::string last_error_;
};

}  // namespace kvcast
