#include "kvcast/store/pack_removals.h"

#include <algorithm>

namespace kvcast {

bool Reaches(const PackId& remover, const PackHorizon& seen, const PackId& target) {
  if (target.node == remover.node) {
    return target.number < remover.number;
  }
  return seen.Has(target.node, target.number);
}

void PackRemovals::Add(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
                       uint64_t offset, const std::shared_ptr<const PackHorizon>& seen) {
  removals_[track].push_back({group, pack, offset, seen});
  ++count_;
}

bool PackRemovals::Covers(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
                          uint64_t offset) const {
  const auto found = removals_.find(track);
  if (found == removals_.end()) {
    return false;
  }
  return std::ranges::any_of(found->second, [&](const One& one) {
    const bool about = !one.group || (group && *one.group == *group);
    return about && (one.pack == pack ? offset < one.offset : Reaches(one.pack, *one.seen, pack));
  });
}

void PackRemovals::Drop(const PackId& pack) {
  for (auto track = removals_.begin(); track != removals_.end();) {
    count_ -= std::erase_if(track->second, [&](const One& one) { return one.pack == pack; });
    track = track->second.empty() ? removals_.erase(track) : std::next(track);
  }
}

}  // namespace kvcast
