#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/store/device.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/disk_log.h"
#include "kvcast/store/disk_policy.h"
#include "kvcast/store/group_reader.h"
#include "kvcast/store/segment_load.h"
#include "kvcast/store/segment_removals.h"
#include "kvcast/store/segment_table.h"

namespace kvcast {

// Empties a segment so that its file can go: what is worth keeping is moved to the end of the log,
// the rest is evicted, group by group.
//
// The index points at the old record until the new one is durable, so a crash at any moment finds
// one of them, or both.
class SegmentDrain {
 public:
  enum class Why : uint8_t {
    kRoom,    // Its room is needed: the policy says what is kept, up to a fifth of a segment.
    kIndex,   // Memory is: the same, and what the policy has condemned goes, however little it is.
    kRescue,  // It is frail: all is kept.
  };
  struct Parts {
    uint64_t number = 0;  // Of this drain: no other has the same.
    DirectoryId directory;
    uint64_t key_property = 0;
    DiskIndex* index = nullptr;
    DiskLog* log = nullptr;
    DiskPolicy* policy = nullptr;
    SegmentTable* table = nullptr;
    DeviceOutbox* outbox = nullptr;
    SegmentRemovals* removals = nullptr;  // Null: no segment is unread.
    // Whole groups up to this size are read before they are evicted; 0: none is.
    uint64_t hand_over_bytes_max = 0;
    // Whether an object of a group is on its way here.
    std::function<bool(const TrackName& track, uint64_t group)> expects;
  };

  SegmentDrain(uint32_t segment, Why why, const Parts& parts);

  void Pump();
  // False: not of this drain.
  bool OnCompletion(const DeviceCompletion& completion);
  // Of a record that this drain queued.
  void OnSettled(const DiskLog::Settled& settled);
  // An object that lay in this segment was put again, and is durable elsewhere.
  void OnPutAgain(const TrackName& track, uint64_t group);
  // There is no room to move anything to: what has not been moved is evicted.
  void GiveUpMoving();

  uint64_t number() const { return parts_.number; }
  uint32_t segment() const { return segment_; }
  Why why() const { return why_; }
  // Nothing of the segment is needed any more.
  bool drained() const;
  // The device failed to give what must not be evicted: the segment stays. Nothing of it is being
  // read any more; what was moved already may still be on its way.
  bool held() const;
  std::vector<TierEvicted> TakeEvicted() { return std::exchange(evicted_, {}); }
  uint64_t damaged() const { return damaged_; }
  // Of what is being read to be handed over.
  uint64_t leaving_bytes() const { return leaving_ ? leaving_->bytes() : 0; }

 private:
  struct Reading {
    const SegmentEntry* entry = nullptr;
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  void OnLoaded();
  void WalkObjects();
  // The rest of what the segment says: ends of groups, removals, facts.
  void MoveNotes();
  bool IsLive(const SegmentEntry& entry, const ObjectEntry& object) const;
  bool Keeps(const SegmentEntry& entry, const ObjectEntry& object);
  // It is read first, if it is to be handed over.
  void LetGo(const TrackName& track, uint64_t group);
  void EvictRead();
  // The whole group; but of one that is being put again only what lies here.
  void Evict(const TrackName& track, uint64_t group,
             std::optional<EvictedContents> contents = std::nullopt);
  // The rest of its group may still be had.
  void Lose(const TrackName& track, Location location, DiskPlace place);
  // What cannot be read now may be read another time.
  bool MayHold() const;
  void Read(const SegmentEntry& entry);
  void OnRead(const Reading& reading, const DeviceCompletion& completion);
  bool RemovalMatters(const Removal& removal, uint64_t offset) const;
  void Note(const TrackName& track, const RecordBody& body);

  uint32_t segment_;
  Why why_;
  Parts parts_;
  uint64_t keep_bytes_left_;
  bool keep_all_;
  std::optional<SegmentLoad> load_;
  SegmentContents contents_;
  size_t next_ = 0;
  bool notes_moved_ = false;
  std::map<std::pair<uint32_t, uint64_t>, bool> decisions_;  // By track and group.
  std::map<DeviceToken, Reading> readings_;
  uint64_t read_bytes_ = 0;
  uint64_t unsettled_ = 0;
  bool again_ = false;  // Something that was moved did not become durable.
  bool given_up_ = false;
  bool held_ = false;
  uint64_t damaged_ = 0;
  std::optional<GroupReader> leaving_;
  std::set<std::pair<TrackName, uint64_t>> put_again_;
  std::vector<TierEvicted> evicted_;
};

}  // namespace kvcast
