#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kvcast/moqt/event.h"
#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

// The prefixes that one side has subscribed to. None may lie below another: a track would be
// published twice.
class PrefixClaims {
 public:
  // Also changes what the request claimed before; false if another claims some of it.
  bool Claim(const TrackNamespace& prefix, RequestId request) {
    const bool overlaps = std::ranges::any_of(prefixes_, [&](const auto& entry) {
      return entry.first != request &&
             (entry.second.IsPrefixOf(prefix) || prefix.IsPrefixOf(entry.second));
    });
    if (!overlaps) {
      prefixes_[request] = prefix;
    }
    return !overlaps;
  }
  void Release(RequestId request) { prefixes_.erase(request); }
  // Who claims what lies in a namespace, if anyone does.
  std::optional<RequestId> Covering(const TrackNamespace& space) const {
    const auto found = std::ranges::find_if(
        prefixes_, [&](const auto& entry) { return entry.second.IsPrefixOf(space); });
    return found == prefixes_.end() ? std::nullopt : std::optional(found->first);
  }

 private:
  std::map<RequestId, TrackNamespace> prefixes_;
};

}  // namespace kvcast::moqt
