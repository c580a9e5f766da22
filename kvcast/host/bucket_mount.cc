#include "kvcast/host/bucket_mount.h"

#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {

Result<std::unique_ptr<BucketMount>> BucketMount::Open(EventLoop& loop, const Options& options,
                                                       std::function<void()> on_input,
                                                       LogSink* log) {
  const uint64_t least = options.tier.LeastBytes();
  if (options.tier.bytes_max != 0 && options.tier.bytes_max < least) {
    return Error(ErrorCode::kInvalid, HumanBytes(options.tier.bytes_max) +
                                          " are too few for a bucket tier, which needs " +
                                          RoundedUp(least) + " at least.")
        .In(options.where);
  }
  auto bucket = S3Bucket::Open(options.server);
  if (!bucket.ok()) {
    return Error(bucket.error()).In(options.where);
  }
  auto tier = std::make_unique<BucketTier>(options.tier, Log(log, "bucket"));
  std::unique_ptr<BucketMount> mount(
      new BucketMount(options, std::move(tier), *std::move(bucket), std::move(on_input)));
  BucketMount* const self = mount.get();
  KVCAST_TRY(mount->watch_, LoopWatch::Make(loop, mount->bucket_->descriptor(),
                                            [self](LoopWatch::Ready) { self->OnReady(); }));
  mount->Submit();
  return mount;
}

void BucketMount::Submit() {
  for (BucketRequest& request : tier_->TakeRequests(Now())) {
    bucket_->Submit(std::move(request));
  }
}

void BucketMount::Flush() {
  tier_->Flush(Now());
  Submit();
}

void BucketMount::OnReady() {
  while (auto completion = bucket_->Next()) {
    tier_->OnCompletion(*std::move(completion), Now());
  }
  Submit();
  on_input_();
}

}  // namespace kvcast
