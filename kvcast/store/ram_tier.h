#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// What a tier remembers of a track beside its objects, and what outlives them.
struct TrackFacts {
  Properties properties;
  std::optional<Location> largest;  // Of any object ever put, evicted or not.
  bool ended = false;               // No object will come after `largest`.
};

// A group that was evicted: what a catalog has to unlist.
struct EvictedGroup {
  TrackName track;
  uint64_t group = 0;
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

  // What is known of a track before its objects come, and when its end is known.
  void Describe(const TrackName& track, const Properties& properties);
  void EndTrack(const TrackName& track);

  // Mismatch: another object stands there, so the track is malformed. Too large: its group would
  // not fit an empty tier. Otherwise it is kept, whatever has to go for it.
  Result<void> Put(const TrackName& track, const Object& object);
  // Absent is not evidence that it does not exist. Counts as a use of its group.
  std::optional<Object> Get(const TrackName& track, Location location);
  // The objects of a range that are here, in order, at most `count_max`.
  std::vector<Object> GetRange(const TrackName& track, const LocationRange& range,
                               size_t count_max);

  // Null for a track nobody has described or put into.
  const TrackFacts* Find(const TrackName& track) const;
  // Groups evicted since the last call.
  std::vector<EvictedGroup> TakeEvicted();

  size_t bytes() const { return bytes_; }
  size_t object_count() const { return object_count_; }

 private:
  struct Group;
  struct Track {
    TrackFacts facts;
    std::map<uint64_t, std::unique_ptr<Group>> groups;
  };
  struct Group {
    const TrackName* track = nullptr;  // The map's key, which stays where it is.
    uint64_t number = 0;
    std::map<uint64_t, Object> objects;
    std::list<Group*>::iterator use;
    size_t bytes = 0;
  };

  Track& TrackFor(const TrackName& name);
  Group& GroupFor(const TrackName& name, uint64_t number);
  void Use(Group& group) { uses_.splice(uses_.end(), uses_, group.use); }
  void EvictFor(size_t bytes, const Group* keep);
  void Evict(Group& group);

  size_t bytes_max_;
  size_t bytes_ = 0;
  size_t object_count_ = 0;
  std::map<TrackName, Track> tracks_;
  std::list<Group*> uses_;  // The one to evict first in front.
  std::vector<EvictedGroup> evicted_;
};

}  // namespace kvcast
