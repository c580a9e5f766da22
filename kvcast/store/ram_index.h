#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "kvcast/base/digest.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/run_map.h"
#include "kvcast/store/track_facts.h"
#include "kvcast/store/track_table.h"

namespace kvcast {

struct RamGroup;
struct RamPool;

inline uint64_t RunNumber(const StoredObject& stored) { return stored.object.location.object; }

// A group's place in its track.
struct RamGroupSlot {
  uint64_t number = 0;
  RamGroup* group = nullptr;
};
inline uint64_t RunNumber(const RamGroupSlot& slot) { return slot.number; }

// A track that RAM knows, with what is here of it.
struct RamTrack {
  explicit RamTrack(size_t* bytes) : groups(bytes) {}

  const TrackName& name() const { return *own_name; }

  const TrackName* own_name = nullptr;  // Its key in the index.
  uint64_t serial = 0;
  TrackFacts facts;
  bool kept = false;        // Its groups are never evicted.
  RamPool* pool = nullptr;  // That of its tenant.
  RunMap<RamGroupSlot> groups;
};

// A group of which something is here.
struct alignas(64) RamGroup {
  RamGroup() : objects(&bytes) {}
  RamGroup(const RamGroup&) = delete;
  RamGroup& operator=(const RamGroup&) = delete;

  GroupFacts facts() const;
  bool whole() const { return end && (*end == objects.size() || facts().whole()); }
  // The last of those that do not exist from this one on, as the object behind them says.
  std::optional<uint64_t> AbsentUpTo(uint64_t object) const;

  // Where it stands in the eyes of who evicts.
  enum class State : uint8_t {
    kArriving,  // Not told of yet.
    kResting,   // Under its handle.
    kKept,      // Never told of.
  };

  // In front, so that a get waits for one line of the cache.
  size_t bytes = sizeof(RamGroup);  // With all objects and their payloads.
  RunMap<StoredObject> objects;
  RamTrack* track = nullptr;
  uint64_t number = 0;
  uint64_t serial = 0;  // In the order in which groups came.
  std::optional<uint64_t> end;
  uint64_t payload_bytes = 0;
  uint64_t absent = 0;        // That objects say do not exist.
  std::optional<Digest> key;  // That its first object carries.

  State state = State::kArriving;
  bool begun = false;  // Its first object has been here, so that it has a name.
  uint32_t pins = 0;
  uint64_t handle = 0;
  std::list<RamGroup*, CountedAllocator<RamGroup*>>::iterator arrival;
};

// What is in RAM, by track and location. Every byte is counted, payloads too, which are shared by
// reference and never copied.
//
// Tracks are found by a table, listed by a map; groups and objects are sorted in runs. So a get is
// a handful of memory accesses, and what comes next is still found in order.
class RamIndex {
 public:
  explicit RamIndex(uint64_t secret) : table_(secret, &bytes_) {}
  ~RamIndex();
  RamIndex(const RamIndex&) = delete;
  RamIndex& operator=(const RamIndex&) = delete;

  // Null if there is none.
  RamTrack* FindTrack(const TrackName& name) const { return table_.Find(name); }
  static RamGroup* FindGroup(const RamTrack& track, uint64_t number) {
    const RamGroupSlot* const slot = track.groups.Find(number);
    return slot == nullptr ? nullptr : slot->group;
  }
  // The first object of the range; null if there is none.
  static const StoredObject* FirstIn(const RamTrack& track, const LocationRange& range);
  // The first track behind a name, or of all; null if there is none.
  const RamTrack* TrackAfter(const std::optional<TrackName>& name) const;

  // What each of these will take of memory. `group` may be null, and `track`.
  size_t TrackBytes(const TrackName& name, const Properties& properties) const;
  static size_t GroupBytes(const RamTrack* track, uint64_t number);
  static size_t ObjectBytes(const RamGroup* group, const Object& object);
  static size_t GapBytes(const RamTrack& track);

  // REQUIRES: it is not there.
  RamTrack& AddTrack(const TrackName& name, const Properties& properties, RamPool& pool);
  RamGroup& AddGroup(RamTrack& track, uint64_t number);
  void AddObject(RamGroup& group, StoredObject stored);
  void AddGap(RamTrack& track, const LocationRange& gap);

  // REQUIRES: it is there.
  void EraseObject(RamGroup& group, uint64_t object);
  void EraseGroup(RamGroup& group);
  // REQUIRES: it has no groups.
  void EraseTrack(RamTrack& track);

  size_t bytes() const { return sizeof(*this) + bytes_ + group_bytes_; }
  size_t object_count() const { return object_count_; }
  size_t track_count() const { return tracks_.size(); }

 private:
  using Tracks = std::map<TrackName, RamTrack, std::less<>,
                          CountedAllocator<std::pair<const TrackName, RamTrack>>>;

  size_t bytes_ = 0;        // Of tracks and the places of their groups.
  size_t group_bytes_ = 0;  // Of all groups.
  size_t object_count_ = 0;
  uint64_t serial_ = 0;
  TrackTable table_;
  Tracks tracks_{CountedAllocator<std::pair<const TrackName, RamTrack>>(&bytes_)};
};

}  // namespace kvcast
