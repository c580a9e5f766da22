#include "kvcast/io/driven_bucket.h"

#include <poll.h>

#include <algorithm>
#include <span>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {

Result<std::unique_ptr<DrivenBucket>> DrivenBucket::Open(const S3Options& server,
                                                         BucketTierOptions options,
                                                         Duration patience, const Log& log,
                                                         const OnTurn& on_turn) {
  KVCAST_TRY(std::unique_ptr<S3Bucket> opened, S3Bucket::Open(server));
  if (options.node == PackNode()) {
    FillRandom(options.node.bytes);
  }
  if (options.seed == 0) {
    FillRandom(std::as_writable_bytes(std::span(&options.seed, 1)));
  }
  std::unique_ptr<DrivenBucket> bucket(new DrivenBucket(std::move(opened), options, log));
  bucket->answered_ = Now();
  Instant until = Now() + patience;
  while (bucket->tier_.state() == BucketTier::State::kOpening && Now() < until) {
    bucket->Turn(std::chrono::milliseconds(100));
    // A survey that came to nothing is tried again, but not for ever.
    if (bucket->tier_.counts().surveys_failed == 0) {
      until = bucket->answered_ + patience;
    }
    if (on_turn) {
      on_turn(bucket->tier_);
    }
  }
  if (bucket->tier_.state() == BucketTier::State::kRefused) {
    return bucket->tier_.refusal();
  }
  if (!bucket->tier_.ready()) {
    const std::string& trouble = bucket->tier_.trouble();
    return Error(ErrorCode::kMachine, trouble.empty() ? "The bucket does not answer." : trouble);
  }
  return bucket;
}

bool DrivenBucket::Exchange() {
  bool moved = false;
  for (BucketRequest& request : tier_.TakeRequests(Now())) {
    bucket_->Submit(std::move(request));
    moved = true;
  }
  while (auto completion = bucket_->Next()) {
    answered_ = completion->error ? answered_ : Now();
    tier_.OnCompletion(*std::move(completion), Now());
    moved = true;
  }
  return moved;
}

void DrivenBucket::Turn(Duration wait) {
  if (Exchange()) {
    Exchange();
    return;
  }
  const Instant now = Now();
  const Instant wake = std::min(now + wait, tier_.deadline().value_or(now + wait));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  pollfd readable{bucket_->descriptor(), POLLIN, 0};
  ::poll(&readable, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60000)));
  tier_.OnTime(Now());
  Exchange();
}

}  // namespace kvcast
