#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/s3_bucket.h"
#include "kvcast/store/bucket_tier.h"

namespace kvcast {

// A bucket tier on a loop: between its server, and the store, which owns the tier. Belongs to the
// loop's thread; the tier must outlive every turn of the loop with this in it.
class BucketMount {
 public:
  struct Options {
    std::string where;  // For people.
    S3Options server;
    BucketTierOptions tier;
    std::string admission = "all";  // By name.
  };
  // `on_input`: the tier has had some, so that the store may have events. Does not wait for the
  // server. Invalid: options that make no sense. NotFound: no credentials.
  static Result<std::unique_ptr<BucketMount>> Open(EventLoop& loop, const Options& options,
                                                   std::function<void()> on_input, LogSink* log);

  // To be given to the store, once.
  std::unique_ptr<BucketTier> TakeTier() { return std::move(owned_); }
  const BucketTier& tier() const { return *tier_; }
  const Options& options() const { return options_; }

  // Hands what the tier wants to the server: call it after everything that was asked of the store.
  void Submit();
  // What waits is uploaded now, without waiting for more.
  void Flush();

 private:
  BucketMount(Options options, std::unique_ptr<BucketTier> tier, std::unique_ptr<S3Bucket> bucket,
              std::function<void()> on_input)
      : options_(std::move(options)),
        owned_(std::move(tier)),
        tier_(owned_.get()),
        bucket_(std::move(bucket)),
        on_input_(std::move(on_input)) {}
  void OnReady();

  Options options_;
  std::unique_ptr<BucketTier> owned_;
  BucketTier* tier_;
  std::unique_ptr<S3Bucket> bucket_;
  std::function<void()> on_input_;
  std::unique_ptr<LoopWatch> watch_;
};

}  // namespace kvcast
