#include "kvcast/store/pack_copies.h"

#include <algorithm>

namespace kvcast {

PackCopies::Track& PackCopies::TrackFor(const TrackName& name) {
  const auto found = tracks_.find(name);
  if (found != tracks_.end()) {
    return found->second;
  }
  bytes_ += HeapBytesOf(name);
  return tracks_.try_emplace(name, &bytes_).first->second;
}

PackCopies::Tracks::iterator PackCopies::EraseIfEmpty(Tracks::iterator track) {
  if (!track->second.empty()) {
    return std::next(track);
  }
  bytes_ -= HeapBytesOf(track->first);
  return tracks_.erase(track);
}

void PackCopies::Mention(const TrackName& track, DiskPlace place) {
  uint64_t& offset = TrackFor(track).mentions[place.segment];
  offset = std::max(offset, place.offset);
}

void PackCopies::Add(const TrackName& track, Location location, DiskPlace place, uint32_t length) {
  auto& copies = TrackFor(track).copies;
  const auto [first, last] = copies.equal_range(location);
  const bool known =
      std::any_of(first, last, [&](const auto& one) { return one.second.place == place; });
  if (!known) {
    copies.emplace(location, Copy{place, length});
  }
}

bool PackCopies::Has(const TrackName& name, Location location) const {
  const auto track = tracks_.find(name);
  return track != tracks_.end() && track->second.copies.contains(location);
}

void PackCopies::AddEnd(const TrackName& track, const GroupEnd& end, DiskPlace place) {
  auto& ends = TrackFor(track).ends;
  const auto [first, last] = ends.equal_range(end.group);
  const bool known =
      std::any_of(first, last, [&](const auto& one) { return one.second.place == place; });
  if (!known) {
    ends.emplace(end.group, End{place, end.end});
  }
}

void PackCopies::ShelterObjects(const TrackName& name, Track& track, std::optional<uint64_t> group,
                                const Goes& goes, DiskIndex& index) {
  auto copy = group ? track.copies.lower_bound(Location{*group, 0}) : track.copies.begin();
  while (copy != track.copies.end() && (!group || copy->first.group == *group)) {
    const Location location = copy->first;
    const auto found = index.Find(name, location);
    bool over = !found || goes(copy->second.place);
    if (!over && goes(found->place)) {
      index.Move(name, location, copy->second.place, copy->second.length);
      over = true;
    }
    copy = over ? track.copies.erase(copy) : std::next(copy);
  }
}

void PackCopies::Shelter(const TrackName& name, std::optional<uint64_t> group, const Goes& goes,
                         DiskIndex& index) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  ShelterObjects(name, track->second, group, goes, index);
  std::erase_if(track->second.ends, [&](const auto& end) {
    return (!group || end.first == *group) && goes(end.second.place);
  });
  if (!group) {
    auto& mentions = track->second.mentions;
    std::erase_if(mentions, [&](const auto& one) { return goes({one.first, one.second}); });
    if (!mentions.empty()) {
      index.MoveFacts(name, {mentions.rbegin()->first, mentions.rbegin()->second}, goes);
    }
  }
  EraseIfEmpty(track);
}

void PackCopies::TellEnds(const TrackName& name, std::optional<uint64_t> group,
                          DiskIndex& index) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  const auto& ends = track->second.ends;
  auto end = group ? ends.lower_bound(*group) : ends.begin();
  for (; end != ends.end() && (!group || end->first == *group); ++end) {
    index.LearnGroupEnd(name, {end->first, end->second.end});
  }
}

PackCopies::Said PackCopies::SaidIn(uint32_t segment) const {
  Said said;
  for (const auto& [name, track] : tracks_) {
    if (!track.mentions.contains(segment)) {
      continue;
    }
    std::set<uint64_t>& groups = said[name];
    for (const auto& [group, end] : track.ends) {
      const auto [first, last] = track.ends.equal_range(group);
      if (std::all_of(first, last,
                      [&](const auto& one) { return one.second.place.segment == segment; })) {
        groups.insert(group);
      }
    }
  }
  return said;
}

std::set<uint64_t> PackCopies::UnsureGroups(const TrackName& name, const Track& track,
                                            const Goes& goes, const Counts& counts,
                                            const DiskIndex& index) {
  std::set<uint64_t> unsure;
  for (auto copy = track.copies.begin(); copy != track.copies.end();) {
    const Location location = copy->first;
    const auto last = track.copies.upper_bound(location);
    const auto found = index.Find(name, location);
    bool lies_there = found && goes(found->place);
    bool stays = found && !lies_there && counts(found->place);
    for (; copy != last; ++copy) {
      const bool here = goes(copy->second.place);
      lies_there = lies_there || here;
      stays = stays || (!here && counts(copy->second.place));
    }
    if (lies_there && !stays) {
      unsure.insert(location.group);
    }
  }
  return unsure;
}

std::set<std::pair<TrackName, uint64_t>> PackCopies::ShelterFrom(uint32_t segment,
                                                                 const Counts& counts,
                                                                 DiskIndex& index) {
  const Goes goes = [segment](DiskPlace place) { return place.segment == segment; };
  std::set<std::pair<TrackName, uint64_t>> groups;
  for (auto track = tracks_.begin(); track != tracks_.end();) {
    for (const uint64_t group : UnsureGroups(track->first, track->second, goes, counts, index)) {
      groups.emplace(track->first, group);
    }
    ShelterObjects(track->first, track->second, std::nullopt, goes, index);
    std::erase_if(track->second.ends, [&](const auto& end) { return goes(end.second.place); });
    track->second.mentions.erase(segment);
    track = EraseIfEmpty(track);
  }
  return groups;
}

void PackCopies::Forget(const TrackName& name, std::optional<uint64_t> group) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  if (group) {
    track->second.ends.erase(*group);
    auto& copies = track->second.copies;
    copies.erase(copies.lower_bound({*group, 0}), copies.upper_bound({*group, UINT64_MAX}));
    EraseIfEmpty(track);
  } else {
    track->second.mentions.clear();
    track->second.copies.clear();
    track->second.ends.clear();
    EraseIfEmpty(track);
  }
}

}  // namespace kvcast
