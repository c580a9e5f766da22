#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// When the objects that are in memory were received, for tiers below, where they may outlive the
// process that knows. Eight bytes for an object, and its number.
class ReceiptBook {
 private:
  struct Receipt {
    uint64_t object;
    uint64_t received_us;
  };
  template <typename Group>
  static auto PlaceOf(Group& group, uint64_t object) {
    return std::ranges::lower_bound(group, object, {}, &Receipt::object);
  }

 public:
  void Note(const TrackName& track, Location location, uint64_t received_us) {
    std::vector<Receipt>& group = tracks_[track][location.group];
    const auto at = PlaceOf(group, location.object);
    if (at == group.end() || at->object != location.object) {
      group.insert(at, {location.object, received_us});
    }
  }
  std::optional<uint64_t> Find(const TrackName& track, Location location) const {
    const auto found = tracks_.find(track);
    if (found == tracks_.end() || !found->second.contains(location.group)) {
      return std::nullopt;
    }
    const std::vector<Receipt>& group = found->second.at(location.group);
    const auto at = PlaceOf(group, location.object);
    return at != group.end() && at->object == location.object ? std::optional(at->received_us)
                                                              : std::nullopt;
  }
  void Forget(const TrackName& track, uint64_t group) {
    const auto found = tracks_.find(track);
    if (found != tracks_.end() && found->second.erase(group) > 0 && found->second.empty()) {
      tracks_.erase(found);
    }
  }
  void Forget(const TrackName& track, Location location) {
    const auto found = tracks_.find(track);
    if (found == tracks_.end() || !found->second.contains(location.group)) {
      return;
    }
    std::vector<Receipt>& group = found->second.at(location.group);
    std::erase_if(group, [&](const Receipt& entry) { return entry.object == location.object; });
    if (group.empty()) {
      Forget(track, location.group);
    }
  }

 private:
  std::map<TrackName, std::map<uint64_t, std::vector<Receipt>>> tracks_;  // By rising number.
};

}  // namespace kvcast
