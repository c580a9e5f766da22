#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/host/bucket_flag.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/driven_bucket.h"

namespace kvcast {

// A bucket as the tools see it: read as a node reads it, and nothing in it is put or deleted. Nodes
// may use it meanwhile; what they put after it was opened is not seen.
class RestingBucket final : public RestingStore {
 public:
  static Result<std::unique_ptr<RestingBucket>> Open(const BucketFlag& flag);

  std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                size_t count_max) const override {
    return driven_->tier().Tracks(after, count_max);
  }
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                  size_t count_max) const override {
    return driven_->tier().Groups(after, count_max);
  }
  const TrackFacts* FindTrack(const TrackName& track) const override {
    return driven_->tier().FindTrack(track);
  }
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const override {
    return driven_->tier().ObjectFrom(track, location);
  }
  std::vector<StoreDamage> Unlisted() const override { return unlisted_; }
  // Reads ahead: what lies next to each other costs one request. Where the bucket is left alone for
  // a while, it is waited for.
  Result<StoredObject> Read(const TrackName& track, Location location) override;
  Result<std::vector<StoreFile>> Files(const StoreProgress& progress) override;
  Result<StoreVerdict> Verify(const StoreProgress& progress) override;

 private:
  using ObjectName = std::pair<TrackName, Location>;
  using GroupName = std::pair<TrackName, uint64_t>;
  struct Verification {
    StoreVerdict verdict;
    std::map<GroupName, StoreLoss> losses;
  };

  RestingBucket(std::unique_ptr<DrivenBucket> driven, std::unique_ptr<S3Bucket> raw)
      : driven_(std::move(driven)), raw_(std::move(raw)) {}
  void ReadAhead(const TrackName& track, Location location);
  // One request, tried again a few times.
  Result<Bytes> Ask(const std::string& key, uint64_t offset, uint64_t length);
  Result<Bytes> ReadAt(const Pack& pack, uint64_t offset, uint64_t length);
  std::optional<PackBody> ReadEnd(const Pack& pack);
  SegmentContents Scan(const Pack& pack, Verification& to);
  // What a damaged record says of itself.
  Result<DiskRecord> ReadDamaged(const Pack& pack, uint64_t offset);
  void VerifyDamaged(const Pack& pack, uint64_t offset, Verification& to);
  void Lose(const TrackName& track, const ObjectEntry& object, Verification& to);
  void VerifyPack(uint32_t segment, const Pack& pack, const StoreProgress& progress,
                  uint64_t before, uint64_t total, Verification& to);
  void VerifyEntry(uint32_t segment, const Pack& pack, const SegmentContents& contents,
                   const SegmentEntry& entry, Verification& to);

  std::unique_ptr<DrivenBucket> driven_;
  std::unique_ptr<S3Bucket> raw_;  // For what is not asked of the tier.
  BucketToken last_token_ = 0;
  std::vector<StoreDamage> unlisted_;
  Instant last_read_{};  // When something was last read of the tier.
  std::map<ObjectName, std::optional<StoredObject>> ahead_;
  // What was read last.
  std::string window_key_;
  uint64_t window_offset_ = 0;
  Bytes window_;
};

}  // namespace kvcast
