#include "kvcast/store/pack_removals.h"

#include <algorithm>

#include "kvcast/store/disk_index.h"

namespace kvcast {

bool Reaches(const PackId& remover, const PackHorizon& seen, const PackId& target) {
  if (target.node == remover.node) {
    return target.number < remover.number;
  }
  return seen.Has(target.node, target.number);
}

void PackRemovals::Add(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
                       uint64_t offset, const std::shared_ptr<const PackHorizon>& seen) {
  const auto [of, is_new] = tracks_.try_emplace(track, &bytes_);
  bytes_ += is_new ? HeapBytesOf(track) : 0;
  Ones& ones =
      group ? of->second.groups.try_emplace(*group, Nodes<PackId, One>(&bytes_)).first->second
            : of->second.whole;
  const auto [one, is_new_one] = ones.try_emplace(pack, One{offset, seen});
  one->second.offset = std::max(one->second.offset, offset);
  one->second.seen = seen;  // It may not have been known when the pack was first read.
  count_ += is_new_one ? 1 : 0;
}

bool PackRemovals::AnyCovers(const Ones& ones, const PackId& pack, uint64_t offset) {
  return std::ranges::any_of(ones, [&](const auto& one) {
    return one.first == pack ? offset < one.second.offset
                             : Reaches(one.first, *one.second.seen, pack);
  });
}

bool PackRemovals::Covers(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
                          uint64_t offset) const {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return false;
  }
  if (AnyCovers(found->second.whole, pack, offset)) {
    return true;
  }
  const Groups& groups = found->second.groups;
  const auto of_group = group ? groups.find(*group) : groups.end();
  return of_group != groups.end() && AnyCovers(of_group->second, pack, offset);
}

size_t PackRemovals::HeldAgainst(const TrackName& track, std::optional<uint64_t> group) const {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return 0;
  }
  const Groups& groups = found->second.groups;
  const auto of_group = group ? groups.find(*group) : groups.end();
  return found->second.whole.size() + (of_group == groups.end() ? 0 : of_group->second.size());
}

void PackRemovals::Drop(const PackId& pack) {
  for (auto track = tracks_.begin(); track != tracks_.end();) {
    Groups& groups = track->second.groups;
    for (auto group = groups.begin(); group != groups.end();) {
      count_ -= group->second.erase(pack);
      group = group->second.empty() ? groups.erase(group) : std::next(group);
    }
    count_ -= track->second.whole.erase(pack);
    if (groups.empty() && track->second.whole.empty()) {
      bytes_ -= HeapBytesOf(track->first);
      track = tracks_.erase(track);
    } else {
      ++track;
    }
  }
}

}  // namespace kvcast
