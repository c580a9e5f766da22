#include "kvcast/host/driven_store.h"

#include <utility>

#include "kvcast/catalog/block_key.h"
#include "kvcast/host/bucket_flag.h"
#include "kvcast/host/resting_shards.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_bucket.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

constexpr Duration kDrivenBucketPatience = std::chrono::seconds(30);

class DrivenDirectory final : public DrivenStore {
 public:
  explicit DrivenDirectory(std::unique_ptr<DrivenDisk> disk) : disk_(std::move(disk)) {}
  LowerTier& tier() override { return disk_->tier(); }
  uint64_t queued_bytes() const override { return disk_->tier().queued_bytes(); }
  void Turn(Duration wait) override { disk_->Turn(wait); }
  void Hurry() override {}
  bool Tidy() override {
    if (!sealing_) {
      sealing_ = true;
      disk_->tier().Seal(Now());
    }
    return !disk_->tier().idle();
  }

 private:
  std::unique_ptr<DrivenDisk> disk_;
  bool sealing_ = false;
};

class DrivenRemote final : public DrivenStore {
 public:
  explicit DrivenRemote(std::unique_ptr<DrivenBucket> bucket) : bucket_(std::move(bucket)) {}
  LowerTier& tier() override { return bucket_->tier(); }
  uint64_t queued_bytes() const override { return bucket_->tier().queued_bytes(); }
  void Turn(Duration wait) override { bucket_->Turn(wait); }
  void Hurry() override { bucket_->tier().Flush(Now()); }
  bool Tidy() override { return false; }

 private:
  std::unique_ptr<DrivenBucket> bucket_;
};

}  // namespace

Result<std::unique_ptr<DrivenStore>> DrivenStore::Open(const std::string& where,
                                                       const std::string& disk_class) {
  if (BucketFlag::Is(where)) {
    KVCAST_TRY(const BucketFlag flag, BucketFlag::Parse(where));
    BucketTierOptions bucket;
    bucket.prefix = flag.prefix;
    bucket.key_property = kBlockKeyProperty;
    bucket.queue_bytes_max = UINT64_MAX;  // It is looked at before anything is added.
    bucket.survey_every = Duration(0);
    Progress progress("Reading the bucket");
    KVCAST_TRY(std::unique_ptr<DrivenBucket> driven,
               DrivenBucket::Open(
                   flag.server, bucket, kDrivenBucketPatience, Log(),
                   [&](const BucketTier& tier) { progress.Update(tier.counts().bytes_read, 0); }));
    progress.Done();
    return std::unique_ptr<DrivenStore>(std::make_unique<DrivenRemote>(std::move(driven)));
  }
  KVCAST_TRY_VOID(RestingShards::CheckHasNone(where));
  DiskTierOptions tier;
  // The file system's room is the only bound.
  tier.bytes_max = UINT64_MAX / 2;
  tier.disk_class = disk_class == "hdd" ? DiskClass::kHdd : DiskClass::kSsd;
  tier.key_property = kBlockKeyProperty;
  KVCAST_TRY(std::unique_ptr<DrivenDisk> disk,
             DrivenDisk::Open(where, tier, std::make_unique<OldestFirst>(), {}, Log()));
  return std::unique_ptr<DrivenStore>(std::make_unique<DrivenDirectory>(std::move(disk)));
}

}  // namespace kvcast
