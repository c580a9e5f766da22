#pragma once

#include <map>

#include "kvcast/object/track_name.h"

namespace kvcast::relay {

inline const TrackNamespace& SpaceOf(const TrackNamespace& space) { return space; }
inline const TrackNamespace& SpaceOf(const TrackName& track) { return track.space(); }

inline TrackNamespace FirstBelow(const TrackNamespace& prefix, const TrackNamespace*) {
  return prefix;
}
inline TrackName FirstBelow(const TrackNamespace& prefix, const TrackName*) {
  return *TrackName::Of(prefix, "");
}

// Calls `visit(key, value)` for every namespace or track below the prefix, in order, until it
// returns false. Names are ordered so that those below a prefix stand together, right after it: it
// costs what it finds, however much else the map holds.
template <typename Key, typename Value, typename Visit>
void VisitBelow(const std::map<Key, Value>& names, const TrackNamespace& prefix, Visit visit) {
  const Key* const kind = nullptr;
  for (auto each = names.lower_bound(FirstBelow(prefix, kind));
       each != names.end() && prefix.IsPrefixOf(SpaceOf(each->first)); ++each) {
    if (!visit(each->first, each->second)) {
      return;
    }
  }
}

}  // namespace kvcast::relay
