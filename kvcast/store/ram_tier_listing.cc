// What a RAM tier holds, for whoever lists it.
#include "kvcast/store/ram_tier.h"

namespace kvcast {

std::vector<ListedGroup> RamTier::Groups(const std::optional<EvictedGroup>& after,
                                         size_t count_max) const {
  std::vector<ListedGroup> listed;
  const auto list_from = [&](const RamTrack& track, RunMap<RamGroupSlot>::Place at) {
    for (; track.groups.At(at) != nullptr && listed.size() < count_max;
         at = track.groups.Next(at)) {
      const RamGroup& group = *track.groups.At(at)->group;
      listed.push_back({track.name(), group.number, group.key, group.facts()});
    }
  };
  if (after && after->group < UINT64_MAX) {
    if (const RamTrack* const track = index_->FindTrack(after->track)) {
      list_from(*track, track->groups.From(after->group + 1));
    }
  }
  const RamTrack* track = index_->TrackAfter(after ? std::optional(after->track) : std::nullopt);
  for (; track != nullptr && listed.size() < count_max; track = index_->TrackAfter(track->name())) {
    list_from(*track, {});
  }
  return listed;
}

std::vector<TrackName> RamTier::Tracks(const std::optional<TrackName>& after,
                                       size_t count_max) const {
  std::vector<TrackName> names;
  for (const RamTrack* track = index_->TrackAfter(after);
       track != nullptr && names.size() < count_max; track = index_->TrackAfter(track->name())) {
    names.push_back(track->name());
  }
  return names;
}

}  // namespace kvcast
