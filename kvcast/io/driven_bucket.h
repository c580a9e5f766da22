#pragma once

#include <functional>
#include <memory>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/io/s3_bucket.h"
#include "kvcast/store/bucket_tier.h"

namespace kvcast {

// A bucket tier and its server, moved along by whoever waits for it: for tools and tests that have
// no event loop. Belongs to one thread.
class DrivenBucket {
 public:
  using OnTurn = std::function<void(const BucketTier&)>;

  // The node's name and the seed are drawn at random where the options have none. Waits until the
  // tier is ready, however many answers that takes, and calls `on_turn` meanwhile. Machine: nothing
  // of use was answered for this long, with the server's own words. Unsupported: another version,
  // left untouched.
  static Result<std::unique_ptr<DrivenBucket>> Open(const S3Options& server,
                                                    BucketTierOptions options, Duration patience,
                                                    const Log& log, const OnTurn& on_turn = {});

  BucketTier& tier() { return tier_; }
  const S3Bucket& bucket() const { return *bucket_; }

  // Hands over what the tier asks for and what the server says; waits for that, if there is nothing
  // yet, but no longer than this.
  void Turn(Duration wait);

 private:
  DrivenBucket(std::unique_ptr<S3Bucket> bucket, const BucketTierOptions& options, const Log& log)
      : bucket_(std::move(bucket)), tier_(options, log) {}
  bool Exchange();

  std::unique_ptr<S3Bucket> bucket_;
  BucketTier tier_;
  Instant answered_{};  // Something other than an error.
};

}  // namespace kvcast
