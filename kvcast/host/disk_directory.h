#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/host/resting_store.h"
#include "kvcast/store/device.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/segment_load.h"
#include "kvcast/store/segment_table.h"

namespace kvcast {

// The directory of a disk tier at rest: opened as the tier would open it, but nothing in it is
// moved, made whole or removed.
class DiskDirectory final : public RestingStore {
 public:
  static Result<std::unique_ptr<DiskDirectory>> Open(const std::filesystem::path& path);
  // Of files that somebody else reads.
  using ReadFiles = std::function<DeviceCompletion(const DeviceRequest&)>;
  static Result<std::unique_ptr<DiskDirectory>> Over(ReadFiles read);

  std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                size_t count_max) const override {
    return index_.Tracks(after, count_max);
  }
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                  size_t count_max) const override {
    return index_.Groups(after, count_max);
  }
  const TrackFacts* FindTrack(const TrackName& track) const override {
    return index_.FindTrack(track);
  }
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const override {
    return index_.ObjectFrom(track, location);
  }
  std::vector<StoreDamage> Unlisted() const override;
  Result<StoredObject> Read(const TrackName& track, Location location) override;
  Result<std::vector<StoreFile>> Files(const StoreProgress& progress) override;
  Result<StoreVerdict> Verify(const StoreProgress& progress) override;

 private:
  using GroupName = std::pair<TrackName, uint64_t>;
  struct Verification {
    StoreVerdict verdict;
    std::map<GroupName, StoreLoss> losses;
  };

  explicit DiskDirectory(ReadFiles read) : read_(std::move(read)) {}
  // Lets the files answer until nothing more is asked.
  void Answer(DeviceOutbox& outbox,
              const std::function<void(const DeviceCompletion&)>& on_completion);
  Result<void> Load();
  SegmentLoad::Outcome LoadSegment(uint32_t number, const Segment& segment);
  // Reads ahead: what lies next to each other costs one read.
  Result<Bytes> ReadAt(uint32_t segment, uint64_t offset, uint64_t length);
  Result<ParsedRecord> ReadRecord(uint32_t number, uint64_t marker, uint64_t offset,
                                  uint64_t length);
  std::optional<uint64_t> FirstReceipt(uint32_t number, const SegmentLoad::Outcome& outcome);

  void VerifySuperblock(Verification& to);
  void VerifyHeader(uint32_t number, const SegmentLoad::Outcome& outcome, Verification& to);
  void VerifySegment(uint32_t number, const Segment& segment, const StoreProgress& progress,
                     uint64_t before, Verification& to);
  // What a damaged record says of itself.
  Result<DiskRecord> ReadDamaged(uint32_t number, uint64_t marker, uint64_t offset);
  void VerifyScanned(uint32_t number, const SegmentLoad::Outcome& outcome, bool ended,
                     Verification& to);
  void VerifyEntry(uint32_t number, const SegmentLoad::Outcome& outcome, const SegmentEntry& entry,
                   Verification& to);
  void Lose(const TrackName& track, const ObjectEntry& object, Verification& to);

  ReadFiles read_;
  DirectoryId directory_;
  DiskIndex index_;
  SegmentTable table_;
  // What was read last.
  uint32_t window_segment_ = 0;
  uint64_t window_offset_ = 0;
  Bytes window_;
  // Up to here a read failed: no more is read at a time than what is asked for.
  uint32_t bad_segment_ = 0;
  uint64_t bad_end_ = 0;
};

}  // namespace kvcast
