#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/event.h"
#include "kvcast/object/durability.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

// One publication that a peer makes to us: where each of its streams is, and whether all that it
// sent has come.
class Publication {
 public:
  using Place = std::pair<uint64_t, uint64_t>;  // Group and subgroup.

  // The properties are the track's, as this publisher has told them.
  Publication(TrackName track, const Properties& properties,
              Durability durability = Durability::kMemory)
      : track_(std::move(track)), max_cache_ms_(MaxCacheOf(properties)), durability_(durability) {}

  const TrackName& track() const { return track_; }
  // What its objects are to reach.
  Durability durability() const { return durability_; }
  // How long objects of a track with these properties may be kept, in milliseconds.
  static std::optional<uint64_t> MaxCacheOf(const Properties& properties);
  // Until when an object may be kept that began to come then; absent if for ever.
  std::optional<Instant> ExpiryFrom(Instant since) const;

  // Gives the object before it on its stream, if there was one.
  std::optional<uint64_t> OnObject(const moqt::ReceivedObject& received);
  // Gives the end of the stream's group, if the stream has told it.
  std::optional<uint64_t> OnSubgroupEnd(const moqt::SubgroupEnd& end);

  // A new group was asked for, when the largest was this. That is outstanding until it grows.
  void OnNewGroupAsked(uint64_t group, std::optional<uint64_t> largest) {
    new_group_ = NewGroup{group, largest};
  }
  bool IsNewGroupAsked(uint64_t group, std::optional<uint64_t> largest) const {
    return new_group_ && new_group_->largest == largest && new_group_->group >= group;
  }

  // A stream was cut short: objects may exist that we never heard of.
  bool lost_some() const { return lost_some_; }
  // Subgroups that have begun and not ended.
  std::vector<Place> Open() const;

 private:
  struct Stream {
    Place place;
    uint64_t last = 0;
    bool ended = false;  // By an object that says so: no object follows.
  };
  struct NewGroup {
    uint64_t group;
    std::optional<uint64_t> largest;
  };

  TrackName track_;
  std::optional<uint64_t> max_cache_ms_;
  Durability durability_;
  std::map<moqt::StreamId, Stream> streams_;
  bool lost_some_ = false;
  std::optional<NewGroup> new_group_;
};

}  // namespace kvcast::relay
