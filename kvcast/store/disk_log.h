#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/store/segment_table.h"
#include "kvcast/store/segment_writer.h"

namespace kvcast {

// A record on its way to the disk.
struct PendingRecord {
  enum class Origin : uint8_t {
    kPut,    // Somebody outside waits for it.
    kCarry,  // An object, moved out of a segment that is to go.
    kNote,   // Anything else that is moved, or that the tier notes for itself.
  };
  uint64_t id = 0;
  TrackName track;
  RecordDraft draft;
  EntryBody entry;
  Origin origin = Origin::kPut;
  DiskPlace from;      // Where a carried record stood.
  uint64_t drain = 0;  // Whose it is: several may try to empty one segment, after one another.
};

// The writing half of a disk tier: appends records to segments, makes them durable in groups, and
// makes the segments, never more than the budget has room for.
//
// Two segments less than the budget holds are used: the last ones are for records that must be
// moved before another segment can go, when nothing else is left. Puts wait while they are in use.
class DiskLog {
 public:
  struct Options {
    DirectoryId directory;
    uint64_t segment_bytes = 0;
    uint64_t bytes_max = 0;  // For all files.
  };
  // A record that is durable at its place, or never will be.
  struct Settled {
    PendingRecord record;
    DiskPlace place;
    std::optional<Error> error;
  };

  static constexpr uint64_t kLastSegments = 2;

  // Table and outbox must outlive this.
  DiskLog(const Options& options, uint64_t seed, SegmentTable& table, DeviceOutbox& outbox)
      : options_(options), random_(seed), table_(&table), outbox_(&outbox) {
    SetCeiling();
  }

  // Absent, or why nothing can be written just now.
  std::optional<Error> Refusal(Instant now) const;
  // Too large: it would not fit an empty segment.
  Result<void> CheckFits(const TrackName& track, const RecordDraft& draft,
                         const EntryBody& entry) const;
  // What others wait for is written in the order in which it was queued; what is moved goes first.
  // REQUIRES: CheckFits().
  void Queue(PendingRecord record);
  // Takes back what was to be carried out of a segment and has not been written.
  std::vector<PendingRecord> TakeBackCarries(uint32_t from_segment);
  // Room in the segment being written that puts leave to what is moved.
  void SetReserve(uint64_t bytes) { reserve_ = bytes; }

  // Ends the segment being written, if there is one.
  void Seal();

  void Pump(Instant now);
  // False: not of this log.
  bool OnCompletion(const DeviceCompletion& completion, Instant now);
  std::vector<Settled> TakeSettled();

  // Nothing waits and nothing is under way.
  bool idle() const;
  // Something of the segment is under way at the device.
  bool Busy(uint32_t segment) const;
  // Before long the budget will not hold another segment.
  bool wants_room() const;
  // None of the last segments is in use.
  bool has_last_segments() const { return !Cramped(); }
  // A segment is being ended, made or unmade: there will be more to choose from, or more room.
  bool sealing() const;
  // Gives up what waits, and refuses for a while.
  void Refuse(const Error& error, Instant now);
  // Moved records wait, and not even the last segment can be made for them.
  bool stuck() const;
  std::optional<Instant> deadline() const;
  bool puts_wait() const { return !queue_.empty(); }
  // Of records that are not durable yet, payloads and all that is remembered of them meanwhile.
  uint64_t queued_bytes() const { return queued_bytes_; }
  uint64_t index_bytes() const;
  uint64_t failure_count() const { return failure_count_; }

 private:
  struct Unsynced {
    DiskPlace place;
    PendingRecord record;
  };
  struct OpenSegment {
    SegmentWriter writer;
    std::deque<Unsynced> unsynced;
    bool has_puts = false;  // Not only what was moved.
  };

  SegmentWriter* Active();
  const SegmentWriter* Active() const;
  bool AppendOne(std::deque<PendingRecord>& queue, uint64_t spare);
  void AppendAll();
  bool HasRoomFor(uint64_t segments) const {
    return table_->allocated + segments * options_.segment_bytes <= options_.bytes_max;
  }
  // One of the last segments is in use.
  bool Cramped() const { return !HasRoomFor(kLastSegments); }
  bool WantsSegment() const;
  bool MayCreate() const;
  void Create();
  void OnCreated(const DeviceCompletion& completion, Instant now);
  void Settle(OpenSegment& open, Instant now);
  void Fail(PendingRecord record, const Error& error);
  void SetCeiling() {
    const uint64_t came_with_more =
        table_->allocated > options_.bytes_max ? table_->allocated + options_.segment_bytes : 0;
    ceiling_ = std::min(ceiling_, std::max(options_.bytes_max, came_with_more));
  }

  Options options_;
  Random random_;
  SegmentTable* table_;
  DeviceOutbox* outbox_;
  std::deque<PendingRecord> moved_;
  std::deque<PendingRecord> queue_;
  std::list<OpenSegment> open_;  // All but the last are being sealed, or have failed.
  DeviceToken creating_ = 0;
  std::map<DeviceToken, uint32_t> unmaking_;  // What could not be made whole.
  uint64_t creating_number_ = 0;
  std::optional<SegmentHeader> ready_;  // Created, not begun.
  uint64_t reserve_ = 0;
  // What may be allocated for records that are moved: the budget, unless the directory came with
  // more than that. Then one segment more, until it has come down.
  uint64_t ceiling_ = UINT64_MAX;
  uint64_t queued_bytes_ = 0;
  uint64_t failure_count_ = 0;
  uint32_t failures_in_a_row_ = 0;
  std::optional<Instant> refusing_until_;
  std::string refusal_;
  std::vector<Settled> settled_;
};

}  // namespace kvcast
