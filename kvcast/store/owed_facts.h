#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/object/track_name.h"

namespace kvcast {

// What a tier was told of tracks and could not write: it knows it now and would not after a start,
// so it owes another record of it.
//
// A record of what is known of a track says all of it, so that only the last one counts. The end of
// a group has a record of its own: `group` says of which, and is absent for the track.
class OwedFacts {
 public:
  using About = std::optional<uint64_t>;

  // Such a record is under way: nothing is owed until it has settled.
  void OnAsked(const TrackName& track, About group, uint64_t record);
  void OnSettled(const TrackName& track, About group, uint64_t record, bool durable);
  // It was written, and what it was written into has gone.
  void OnLost(const TrackName& track, About group);
  // The group, or the track and its groups, went: nothing of it is owed any more.
  void Forget(const TrackName& track, About group);

  bool Owes(const TrackName& track, About group) const { return owed_.contains({track, group}); }
  // It is owed, or a record of it is under way.
  bool IsPending(const TrackName& track, About group) const {
    return Owes(track, group) || under_way_.contains({track, group});
  }
  bool empty() const { return owed_.empty(); }
  std::vector<About> Of(const TrackName& track) const;
  std::vector<TrackName> Tracks() const;

 private:
  using Name = std::pair<TrackName, About>;

  std::map<Name, uint64_t> under_way_;  // The last record of each.
  std::set<Name> owed_;
};

}  // namespace kvcast
