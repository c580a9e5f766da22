#include "kvcast/store/segment_removals.h"

#include <algorithm>

namespace kvcast {
namespace {

// Of a tree's node, beside what it holds.
constexpr size_t kNodeBytes = 4 * sizeof(void*);

// What a removal takes away is told, and only that.
class RemovalWitness {
 public:
  RemovalWitness(const TrackName& track, std::optional<uint64_t> group, const DiskIndex& index)
      : track_(track), index_(index) {
    const uint64_t first = group.value_or(0);
    for (auto at = index.GroupFrom(track, first); at && (!group || *at == *group);
         at = *at == UINT64_MAX ? std::nullopt : index.GroupFrom(track, *at + 1)) {
      before_.emplace_back(*at, CountOf(*at));
    }
  }
  void Tell(std::vector<EvictedGroup>& lost) const {
    for (const auto& [group, count] : before_) {
      if (CountOf(group) < count) {
        lost.push_back({track_, group});
      }
    }
  }

 private:
  uint64_t CountOf(uint64_t group) const {
    const auto found = index_.FindGroup(track_, group);
    return found ? found->object_count : 0;
  }

  TrackName track_;
  const DiskIndex& index_;
  std::vector<std::pair<uint64_t, uint64_t>> before_;
};

}  // namespace

void SegmentRemovals::Add(const TrackName& track, std::optional<uint64_t> group, DiskPlace before) {
  const auto [of, is_new] = removals_.try_emplace(track);
  if (is_new) {
    bytes_ += sizeof(*of) + kNodeBytes + HeapBytesOf(track);
  }
  if (!group) {
    of->second.track = std::max(of->second.track, before);
    return;
  }
  const auto [place, is_new_group] = of->second.groups.try_emplace(*group, before);
  place->second = std::max(place->second, before);
  bytes_ += is_new_group ? sizeof(*place) + kNodeBytes : 0;
}

void SegmentRemovals::Add(const SegmentContents& contents, uint32_t segment) {
  for (const SegmentEntry& entry : contents.entries) {
    if (const auto* removal = std::get_if<Removal>(&entry.body)) {
      const DiskPlace own{segment, entry.offset};
      Add(contents.track_of(entry), removal->group,
          removal->before == DiskPlace() ? own : removal->before);
    }
  }
}

void SegmentRemovals::Clear() {
  removals_.clear();
  bytes_ = 0;
}

bool SegmentRemovals::RemovesTrack(const TrackName& track, DiskPlace place) const {
  const auto of = removals_.find(track);
  return of != removals_.end() && place < of->second.track;
}

bool SegmentRemovals::Removes(const TrackName& track, uint64_t group, DiskPlace place) const {
  const auto of = removals_.find(track);
  if (of == removals_.end()) {
    return false;
  }
  const auto before = of->second.groups.find(group);
  return place < of->second.track || (before != of->second.groups.end() && place < before->second);
}

std::vector<EvictedGroup> SegmentRemovals::ApplyLate(const SegmentContents& contents,
                                                     uint32_t segment, bool whole,
                                                     DiskIndex& index) const {
  std::vector<EvictedGroup> lost;
  for (const SegmentEntry& entry : contents.entries) {
    const TrackName& track = contents.track_of(entry);
    const DiskPlace place{segment, entry.offset};
    if (const auto* removal = std::get_if<Removal>(&entry.body)) {
      const RemovalWitness witness(track, removal->group, index);
      index.Apply(track, entry.body, place, entry.length);
      witness.Tell(lost);
      continue;
    }
    if (RemovesTrack(track, place)) {
      continue;
    }
    if (const auto* object = std::get_if<ObjectEntry>(&entry.body)) {
      if (Removes(track, object->location.group, place)) {
        // It is gone, and yet it was there.
        TrackFacts told;
        told.largest = object->location;
        index.Learn(track, told);
        continue;
      }
      if (!whole && index.Find(track, object->location)) {
        continue;
      }
    }
    if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      const auto known = index.FindGroup(track, end->group);
      if (Removes(track, end->group, place) || (known && known->end)) {
        continue;
      }
    }
    index.Apply(track, entry.body, place, entry.length);
  }
  return lost;
}

}  // namespace kvcast
