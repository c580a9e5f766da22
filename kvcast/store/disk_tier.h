#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/store/device.h"
#include "kvcast/store/disk_doubts.h"
#include "kvcast/store/disk_log.h"
#include "kvcast/store/disk_opening.h"
#include "kvcast/store/disk_policy.h"
#include "kvcast/store/indexed_tier.h"
#include "kvcast/store/segment_drain.h"
#include "kvcast/store/segment_load.h"
#include "kvcast/store/segment_removals.h"
#include "kvcast/store/segment_table.h"

namespace kvcast {

struct DiskTierOptions {
  uint64_t bytes_max = 0;  // For all files of the directory, as they are allocated.
  DiskClass disk_class = DiskClass::kSsd;
  uint64_t segment_bytes = 0;  // 0: as the class wants it. A directory keeps what it began with.
  size_t index_bytes_max = SIZE_MAX;
  uint64_t queue_bytes_max = 256 << 20;  // Of puts that are not durable yet.
  uint64_t read_bytes_max = 256 << 20;   // Of gets that are under way.
  uint64_t key_property = 0;             // The immutable property that holds a group's key.
  DirectoryId fresh;                     // What a new directory is called: random.
  uint64_t seed = 0;                     // For markers: random, and nobody else's business.

  // The least that `bytes_max` may be for this.
  uint64_t LeastBytes() const;
  uint64_t SegmentBytes() const;
};

struct DiskTierCounts {
  uint64_t damaged = 0;       // Records, footers and superblocks that did not pass their checks.
  uint64_t read_errors = 0;   // Reads that the device failed.
  uint64_t unreadable = 0;    // Objects that were given up for that.
  uint64_t write_errors = 0;  // Segments that it failed to make or write.
  uint64_t carried = 0;       // Objects that were moved.
  uint64_t segments_removed = 0;
  // Times that something went which would have stayed: what was to be moved, for want of room; and
  // segments that were emptied for want of memory for the index.
  uint64_t gave_up = 0;
};

// Objects in a directory of append-only segments. docs/design/disk-tier.md tells why it is built
// so.
//
// A put is too large if it does not fit a segment or too much waits; if the disk is full or fails,
// that is the machine's fault. Nothing is called back: requests for the device are taken out after
// every input and its completions handed in.
//
// What cannot be read is in doubt: it is read again for a while, is written again if it is put, and
// goes, told as evicted, if it never comes.
class DiskTier final : public IndexedTier {
 public:
  enum class State : uint8_t { kOpening, kReady, kRefused };

  // REQUIRES: options.bytes_max >= options.LeastBytes().
  DiskTier(const DiskTierOptions& options, std::unique_ptr<DiskPolicy> policy, Log log = {});

  State state() const { return state_; }
  bool ready() const override { return state_ == State::kReady; }
  // The device does not answer: nothing that it was asked for has come to its end for a while.
  bool away() const override { return away_; }
  bool Doubts(const TrackName& track, const LocationRange& range) const override;
  // Why the directory is refused. REQUIRES: kRefused.
  const Error& refusal() const { return *refusal_; }
  // How much has been read of it, in the attempt to open it that came farthest: while it is not
  // ready and this does not rise, it stands still.
  uint64_t opening_reads() const { return opening_reads_max_; }

  // For whoever drives it.
  std::vector<DeviceRequest> TakeRequests() { return outbox_.Take(); }
  void OnCompletion(const DeviceCompletion& completion, Instant now);
  void HandOverEvicted() override { hands_over_ = true; }
  void SetSpare(const TrackName& track, uint64_t group, bool spare) override {
    policy_->OnSpare(track, group, spare, *index_);
  }
  bool HasSpareRoom(uint64_t bytes, Instant now) override;
  void OnTime(Instant now) override;
  std::optional<Instant> deadline() const override;

  std::optional<TierTicket> Get(const TrackName& track, Location location, Instant now) override;

  uint64_t allocated_bytes() const { return table_.allocated; }
  uint64_t index_bytes() const {
    return index_->bytes() + policy_->bytes() + removals_.bytes() + doubts_.bytes() +
           (log_ ? log_->index_bytes() : 0);
  }
  uint64_t queued_bytes() const { return log_ ? log_->queued_bytes() : 0; }
  const SegmentTable& segments() const { return table_; }
  // That could not be read yet: there may be more here than is known.
  size_t unread_segments() const { return unread_segments_; }
  // For whoever is about to stop: ends the segment being written, so that the next start need not
  // read it all. It is done when the tier is idle.
  void Seal(Instant now);
  // Nothing is under way or waiting.
  bool idle() const;
  DiskTierCounts counts() const;

 private:
  // So long a device may be silent before it is taken to be away.
  static constexpr Duration kAwayAfter = std::chrono::seconds(5);
  static constexpr size_t kLooksMax = 8;  // At a time.

  struct Reading {
    TierTicket ticket = 0;  // 0: nobody waits for it.
    bool is_look = false;   // At what is in doubt.
    TrackName track;
    Location location;
    DiskIndex::Found found;
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  void Open();
  void OnOpened(Instant now);
  void TellPolicy();
  void Evicted(TierEvicted evicted);
  void Pump(Instant now);
  void SettleRecords();
  void Settle(const DiskLog::Settled& settled);
  void SettlePut(const DiskLog::Settled& settled);
  void SettleCarry(const DiskLog::Settled& settled);
  void CountRemoval(const DiskLog::Settled& settled);

  // Reading. disk_tier_reads.cc
  void Read(Reading reading);
  void OnRead(const Reading& reading, const DeviceCompletion& completion, Instant now);
  void OnUnreadable(const Reading& reading, Instant now);
  void GiveUp(const TrackName& track, Location location, DiskPlace place);
  void LookAgain(Instant now);
  // Notices when the device ceases to answer, and when it answers again.
  void WatchDevice(Instant now);

  // Reading segments that could not be read when it started.
  void CountUnread();
  // Which removals there were since has to be remembered for them, here and on the disk.
  bool CostsTooMuch(const Segment& unread) const;
  void StartLate(Instant now);
  void OnLate(Instant now);
  void ApplyLate(uint32_t segment, const SegmentContents& contents, bool whole);

  // Reclaiming.
  bool over_budget() const { return table_.allocated > options_.bytes_max; }
  // Before it is, so that puts need not be refused while something goes.
  bool index_full() const {
    return index_bytes() >= options_.index_bytes_max - options_.index_bytes_max / 32;
  }
  void StartDrains(Instant now);
  void StartEvicting(Instant now);
  void StartDrain(std::optional<SegmentDrain>& drain, uint32_t segment, SegmentDrain::Why why);
  std::optional<uint32_t> FrailSegment(Instant now) const;
  std::optional<uint32_t> Victim(Instant now);
  // Those that may be emptied now.
  std::vector<SegmentView> Views(Instant now) const;
  void PumpDrain(std::optional<SegmentDrain>& drain, Instant now);
  void FinishDrain(std::optional<SegmentDrain>& drain);
  bool OnRemoved(const DeviceCompletion& completion, Instant now);

  Result<void> CheckTakes(Instant now) const override;
  Result<void> CheckFits(const TrackName& track, const RecordDraft& draft,
                         const EntryBody& entry) const override;
  bool IsDurable(DiskPlace place) const override;
  void Append(uint64_t record, const TrackName& track, RecordDraft draft, EntryBody entry,
              uint64_t received_us, Instant now) override;
  void OnRemove(const TrackName& track, std::optional<uint64_t> group) override;

  DiskTierOptions options_;
  std::unique_ptr<DiskPolicy> policy_;
  Log logger_;
  State state_ = State::kOpening;
  std::optional<Error> refusal_;
  uint64_t opening_reads_ = 0;
  uint64_t opening_reads_max_ = 0;
  bool hands_over_ = false;
  DeviceOutbox outbox_;
  SegmentTable table_;
  std::optional<DiskOpening> opening_;
  std::optional<Instant> open_again_;
  Superblock superblock_;
  std::optional<DiskLog> log_;
  size_t unread_segments_ = 0;
  uint32_t newest_unread_ = 0;
  SegmentRemovals removals_;     // While segments are unread.
  bool removals_weigh_ = false;  // On the disk, when room was last needed.
  // What would come of groups that a bucket has too, when there were as many segments.
  std::optional<std::pair<uint64_t, uint64_t>> spare_room_at_;
  uint64_t spare_room_ = 0;
  std::optional<SegmentLoad> late_;
  uint64_t last_drain_ = 0;
  std::optional<SegmentDrain> rescue_;
  std::optional<SegmentDrain> evict_;
  // Emptying segments may bring nothing, where all is reserved: so often it did not.
  uint32_t fruitless_ = 0;
  bool progress_ = false;  // Something was evicted or put since.
  uint64_t least_allocated_ = UINT64_MAX;
  Instant evict_again_{};
  std::map<DeviceToken, uint32_t> removing_;
  std::map<DeviceToken, Reading> readings_;
  uint64_t read_bytes_ = 0;
  DiskDoubts doubts_;
  size_t looks_ = 0;                     // Under way.
  uint64_t answered_ = 0;                // Of what the device was asked for.
  std::optional<Instant> silent_since_;  // While it owes an answer: the last one, or the question.
  bool away_ = false;
  DiskTierCounts counts_;
};

}  // namespace kvcast
