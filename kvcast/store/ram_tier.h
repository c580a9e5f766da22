#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/track_facts.h"

namespace kvcast {

// A group that was evicted, with what it held, for a tier below.
struct EvictedContents {
  EvictedGroup group;
  std::optional<uint64_t> end;
  std::vector<Object> objects;
};

// Objects in memory, by track and location, up to a number of bytes.
//
// Objects are immutable: an object that is put again must be the one that is there. Room is made by
// evicting whole groups, the one that was used longest ago first, since a block with holes is
// of no use to anybody. An object that somebody still sends keeps its payload alive by reference.
class RamTier {
 public:
  // `bytes_max` holds payloads, properties, names and what the index costs.
  explicit RamTier(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A track, before its objects come. What was told of it first stays; the largest object only
  // rises. Too large: there is no room for one more name.
  Result<void> Describe(const TrackName& track, const Properties& properties,
                        std::optional<Location> largest = std::nullopt);
  // Groups of the track are never evicted, only removed.
  Result<void> Pin(const TrackName& track);
  // No object of the group, or of the track, stands at `end` or beyond. Mismatch: one does, or
  // another end was told.
  Result<void> EndGroup(const TrackName& track, uint64_t group, uint64_t end);
  Result<void> EndTrack(const TrackName& track, Location end);

  // True if the object is new, false if it was here. Mismatch: another object stands there, or none
  // can, so the track is malformed. Too large: its group would not fit an empty tier. Otherwise it
  // is kept, whatever has to go for it.
  Result<bool> Put(const TrackName& track, const Object& object);
  // Absent is not evidence that it does not exist. Counts as a use of its group.
  std::optional<Object> Get(const TrackName& track, Location location);
  // The objects of a range that are here, in order, at most `count_max`.
  std::vector<Object> GetRange(const TrackName& track, const LocationRange& range,
                               size_t count_max);

  // Null for a track nobody has described or put into.
  const TrackFacts* Find(const TrackName& track) const;
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  // The nearest group that is here: at `group` or above it, or at it or below.
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;

  // Not an eviction: whoever removes it knows.
  void Remove(const TrackName& track, uint64_t group);
  // The same of one object; its group goes with the last one.
  void Remove(const TrackName& track, Location location);
  // Forgets what outlived a track's objects; false if it has any.
  bool Forget(const TrackName& track);
  // Groups evicted since the last call, with their objects if these are to be handed over: they
  // are alive until then, and no longer counted.
  std::vector<EvictedGroup> TakeEvicted();
  std::vector<EvictedContents> TakeEvictedContents() { return std::exchange(evicted_, {}); }
  void HandOverEvicted() { hands_over_ = true; }

  size_t bytes() const { return bytes_; }
  size_t object_count() const { return object_count_; }
  size_t track_count() const { return tracks_.size(); }

 private:
  struct Group;
  struct Track {
    TrackFacts facts;
    bool pinned = false;
    std::map<uint64_t, std::unique_ptr<Group>> groups;
  };
  using Tracks = std::map<TrackName, Track>;
  struct Group {
    Tracks::iterator track;
    uint64_t number = 0;
    std::map<uint64_t, Object> objects;
    std::optional<uint64_t> end;
    uint64_t payload_bytes = 0;
    std::list<Group*>::iterator use;  // The list's end, if the track is pinned.
    size_t bytes = 0;
  };
  // A group without objects, with its places in maps and lists, here and at who keeps notes of it.
  static constexpr size_t kGroupBytes = sizeof(Group) + 5 * 64;

  Result<Tracks::iterator> TrackFor(const TrackName& name, size_t properties_bytes);
  Result<Group*> GroupFor(Tracks::iterator track, uint64_t number);
  const Group* FindIn(const TrackName& track, uint64_t number) const;
  void Use(Group& group);
  // Makes room for so many bytes more; false if that cannot be.
  bool EvictFor(size_t bytes, const Group* keep);
  void Erase(Group& group);

  size_t bytes_max_;
  size_t bytes_ = 0;
  size_t object_count_ = 0;
  Tracks tracks_;
  std::list<Group*> uses_;  // The one to evict first in front.
  bool hands_over_ = false;
  std::vector<EvictedContents> evicted_;
};

}  // namespace kvcast
