#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

// Until when objects may be served, of tracks that say so (MAX_CACHE_DURATION). It has as many
// entries as there are such objects: whoever gives a group up says so here.
class ExpiryBook {
 public:
  struct Expired {
    TrackName track;
    Location location;
  };

  void Add(const TrackName& track, Location location, Instant at);
  void Forget(const TrackName& track, uint64_t group);
  // Of the group, remembers only what is due first.
  void KeepFirst(const TrackName& track, uint64_t group);

  std::optional<Instant> next() const;
  // One that is due, which is forgotten.
  std::optional<Expired> TakeDue(Instant now);

 private:
  struct Entry {
    Instant at;
    uint64_t object;
  };
  // By rising time, from `first` on; usually that is how they come.
  struct Group {
    std::vector<Entry> entries;
    size_t first = 0;
  };
  using Tracks = std::map<TrackName, std::map<uint64_t, Group>>;

  void Unlist(Tracks::iterator track, uint64_t group);
  void List(Tracks::iterator track, uint64_t group);
  void Erase(Tracks::iterator track, uint64_t group);

  Tracks tracks_;
  std::set<std::tuple<Instant, const TrackName*, uint64_t>> firsts_;  // Of each group.
};

}  // namespace kvcast::relay
