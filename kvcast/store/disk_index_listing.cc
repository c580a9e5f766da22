// What an index tells of tracks and groups, for whoever tells others what is here.
#include <algorithm>

#include "kvcast/store/disk_index.h"

namespace kvcast {

GroupFacts DiskIndex::FactsOf(const Track& track, uint64_t number, const Group& group) {
  GroupFacts facts{group.end, group.objects.size(), group.payload_bytes, group.absent};
  if (group.end && *group.end > group.objects.size() + group.absent && !track.facts.gaps.empty()) {
    const auto at = [&](uint64_t object) {
      return std::ranges::lower_bound(group.objects, object, {}, &Indexed::object);
    };
    facts.absent_count +=
        track.facts.AbsentIn(number, *group.end, [&](uint64_t first, uint64_t last) {
          const auto behind = at(last + 1);
          auto known = static_cast<uint64_t>(behind - at(first));
          for (auto one = at(first); one != group.objects.end() && one <= behind; ++one) {
            known += AbsentBehind(first, last, one->object, one->absent);
          }
          return std::min(known, last - first + 1);
        });
  }
  return facts;
}

std::optional<GroupFacts> DiskIndex::FindGroup(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  const Group* group = GroupIn(name, number);
  return group == nullptr ? std::nullopt : std::optional(FactsOf(track->second, number, *group));
}

std::optional<uint64_t> DiskIndex::AbsentUpTo(const TrackName& name, Location location) const {
  const Group* const group = GroupIn(name, location.group);
  if (group == nullptr || group->absent == 0) {
    return std::nullopt;
  }
  const auto next = std::ranges::upper_bound(group->objects, location.object, {}, &Indexed::object);
  const bool gone = next != group->objects.end() && next->object - location.object <= next->absent;
  return gone ? std::optional(next->object - 1) : std::nullopt;
}

std::optional<Digest> DiskIndex::KeyOf(const TrackName& name, uint64_t number) const {
  const Group* const group = GroupIn(name, number);
  return group == nullptr ? std::nullopt : group->key;
}

std::optional<ListedGroup> DiskIndex::Listed(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  const Group* const group = GroupIn(name, number);
  if (group == nullptr) {
    return std::nullopt;
  }
  return ListedGroup{name, number, group->key, FactsOf(track->second, number, *group)};
}

std::vector<ListedGroup> DiskIndex::Groups(const std::optional<EvictedGroup>& after,
                                           size_t count_max) const {
  std::vector<ListedGroup> listed;
  auto track = after ? tracks_.lower_bound(after->track) : tracks_.begin();
  for (; track != tracks_.end(); ++track) {
    const GroupMap& groups = track->second.groups;
    const bool within = after && track->first == after->track;
    for (auto group = within ? groups.upper_bound(after->group) : groups.begin();
         group != groups.end(); ++group) {
      if (listed.size() == count_max) {
        return listed;
      }
      const Group& one = group->second;
      listed.push_back(
          {track->first, group->first, one.key, FactsOf(track->second, group->first, one)});
    }
  }
  return listed;
}

std::vector<TrackName> DiskIndex::Tracks(const std::optional<TrackName>& after,
                                         size_t count_max) const {
  std::vector<TrackName> listed;
  for (auto track = after ? tracks_.upper_bound(*after) : tracks_.begin();
       track != tracks_.end() && listed.size() < count_max; ++track) {
    listed.push_back(track->first);
  }
  return listed;
}

}  // namespace kvcast
