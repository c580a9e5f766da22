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
#include "kvcast/store/disk_index.h"
#include "kvcast/store/disk_log.h"
#include "kvcast/store/disk_opening.h"
#include "kvcast/store/disk_policy.h"
#include "kvcast/store/segment_drain.h"
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

using DiskTicket = uint64_t;

// What was asked for under a ticket is durable, or failed. An object that failed is not here; what
// was told of a track or removed is known until the next start.
struct DiskWritten {
  DiskTicket ticket = 0;
  std::optional<Error> error;
};
// Absent: a miss, because it is damaged or the device failed. It is not evidence of anything.
struct DiskRead {
  DiskTicket ticket = 0;
  std::optional<StoredObject> found;
};
// A group that is no longer here as a whole: evicted, or damaged.
struct DiskEvicted {
  EvictedGroup group;
};
using DiskEvent = std::variant<DiskWritten, DiskRead, DiskEvicted>;

struct DiskTierCounts {
  uint64_t damaged = 0;       // Records, footers and superblocks that did not pass their checks.
  uint64_t read_errors = 0;   // Reads that the device failed.
  uint64_t write_errors = 0;  // Segments that it failed to make or write.
  uint64_t carried = 0;       // Objects that were moved.
  uint64_t segments_removed = 0;
  uint64_t gave_up = 0;  // Times that what was to be moved was evicted, for want of room.
};

// Objects in a directory of append-only segments. docs/design/disk-tier.md tells why it is built
// so.
//
// Nothing is called back: requests for the device are taken out after every input and its
// completions handed in; what came of puts and gets is taken out as events. A put is acknowledged
// when it is durable and not before. Until the tier is ready it has nothing and takes nothing.
class DiskTier {
 public:
  enum class State : uint8_t { kOpening, kReady, kRefused };

  // REQUIRES: options.bytes_max >= options.LeastBytes().
  DiskTier(const DiskTierOptions& options, std::unique_ptr<DiskPolicy> policy, Log log = {});

  State state() const { return state_; }
  // Why the directory is refused. REQUIRES: kRefused.
  const Error& refusal() const { return *refusal_; }

  // For whoever drives it.
  std::vector<DeviceRequest> TakeRequests() { return outbox_.Take(); }
  void OnCompletion(const DeviceCompletion& completion, Instant now);
  void OnTime(Instant now);
  std::optional<Instant> deadline() const;
  std::optional<DiskEvent> Next();

  // An object that is here already is acknowledged in the next event. Mismatch: another object
  // stands there, or none can. Too large: it does not fit a segment, or too much waits. Machine:
  // the disk is full or fails; reads go on.
  Result<DiskTicket> Put(const TrackName& track, const Object& object, uint64_t received_us,
                         Instant now);
  // What is known of a track. Properties that were told first stay, the rest adds up.
  Result<DiskTicket> Describe(const TrackName& track, const TrackFacts& facts, Instant now);
  Result<DiskTicket> EndGroup(const TrackName& track, const GroupEnd& end, Instant now);
  // One group, or the track and all that is known of it. It is gone at once, and for good when it
  // is acknowledged.
  Result<DiskTicket> Remove(const TrackName& track, std::optional<uint64_t> group, Instant now);

  // Absent: not here, or too much is being read. Counts as a use of its group.
  std::optional<DiskTicket> Get(const TrackName& track, Location location);
  Presence PresenceOf(const TrackName& track, Location location) const {
    return index_->PresenceOf(track, location);
  }
  // Tracks, groups and their keys.
  const DiskIndex& index() const { return *index_; }

  uint64_t allocated_bytes() const { return table_.allocated; }
  uint64_t index_bytes() const { return index_->bytes() + (log_ ? log_->index_bytes() : 0); }
  uint64_t queued_bytes() const { return log_ ? log_->queued_bytes() : 0; }
  const SegmentTable& segments() const { return table_; }
  // Nothing is under way or waiting.
  bool idle() const;
  DiskTierCounts counts() const;

 private:
  using Name = std::pair<TrackName, Location>;
  struct Waiting {
    std::vector<DiskTicket> tickets;
    TrackName track;
    std::optional<Location> location;  // Of an object.
    uint32_t identity = 0;
    bool removed = false;    // Before it was durable,
    bool forgotten = false;  // with the whole track.
  };
  struct Reading {
    DiskTicket ticket = 0;
    TrackName track;
    Location location;
    DiskIndex::Found found;
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  void Open();
  void OnOpened(Instant now);
  void Pump(Instant now);
  void SettleRecords();
  void Settle(DiskLog::Settled settled);
  void SettleCarry(const DiskLog::Settled& settled);
  void OnRead(const Reading& reading, const DeviceCompletion& completion);

  // Reclaiming.
  void StartDrains(Instant now);
  void StartDrain(std::optional<SegmentDrain>& drain, uint32_t segment, SegmentDrain::Why why);
  std::optional<uint32_t> FrailSegment(Instant now) const;
  std::optional<uint32_t> Victim(Instant now);
  void PumpDrain(std::optional<SegmentDrain>& drain, Instant now);
  void FinishDrain(std::optional<SegmentDrain>& drain);
  bool OnRemoved(const DeviceCompletion& completion, Instant now);

  Result<void> CheckTakes(Instant now) const;
  Result<void> CheckAgainstEnds(const TrackName& track, Location location) const;
  DiskTicket Write(const TrackName& track, RecordDraft draft, EntryBody entry);
  void Acknowledge(DiskTicket ticket) { events_.push_back(DiskWritten{ticket, std::nullopt}); }

  DiskTierOptions options_;
  std::unique_ptr<DiskPolicy> policy_;
  Log logger_;
  State state_ = State::kOpening;
  std::optional<Error> refusal_;
  DeviceOutbox outbox_;
  SegmentTable table_;
  std::unique_ptr<DiskIndex> index_ = std::make_unique<DiskIndex>();
  std::optional<DiskOpening> opening_;
  std::optional<Instant> open_again_;
  Superblock superblock_;
  std::optional<DiskLog> log_;
  std::optional<SegmentDrain> rescue_;
  std::optional<SegmentDrain> evict_;
  std::map<DeviceToken, uint32_t> removing_;
  DiskTicket last_ticket_ = 0;
  uint64_t last_record_ = 0;
  std::map<uint64_t, Waiting> waiting_;  // By record.
  std::map<Name, uint64_t> unsettled_;   // Objects that are not durable yet.
  std::map<DeviceToken, Reading> readings_;
  uint64_t read_bytes_ = 0;
  std::vector<DiskEvent> events_;
  size_t next_event_ = 0;
  DiskTierCounts counts_;
};

}  // namespace kvcast
