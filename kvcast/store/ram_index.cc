#include "kvcast/store/ram_index.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kvcast {
namespace {

// A node of a map, as libstdc++ and libc++ make it.
constexpr size_t kMapNodeBytes = 4 * sizeof(void*);

// What a string that was copied takes from the heap.
size_t CopiedBytes(std::string_view text) { return text.size() < 16 ? 0 : text.size() + 1; }
size_t CopiedBytes(const TrackName& name) {
  return CopiedBytes(name.space().packed()) + CopiedBytes(name.name());
}
size_t OutsideBytes(const Object& object) {
  return CopiedBytes(object.properties.encoded()) + object.payload.memory_bytes();
}

}  // namespace

RamIndex::~RamIndex() {
  for (auto& [name, track] : tracks_) {
    for (RunMap<RamGroupSlot>::Place at; track.groups.At(at) != nullptr;
         at = track.groups.Next(at)) {
      delete track.groups.At(at)->group;
    }
  }
}

const RamTrack* RamIndex::TrackAfter(const std::optional<TrackName>& name) const {
  const auto track = name ? tracks_.upper_bound(*name) : tracks_.begin();
  return track == tracks_.end() ? nullptr : &track->second;
}

size_t RamIndex::TrackBytes(const TrackName& name, const Properties& properties) const {
  return kMapNodeBytes + sizeof(Tracks::value_type) + CopiedBytes(name) +
         CopiedBytes(properties.encoded()) + table_.GrowthForOne();
}

size_t RamIndex::GroupBytes(const RamTrack* track, uint64_t number) {
  return sizeof(RamGroup) + (track == nullptr ? RunMap<RamGroupSlot>::GrowthForFirst()
                                              : track->groups.GrowthFor(number));
}

size_t RamIndex::ObjectBytes(const RamGroup* group, const Object& object) {
  return OutsideBytes(object) + (group == nullptr
                                     ? RunMap<StoredObject>::GrowthForFirst()
                                     : group->objects.GrowthFor(object.location.object));
}

// As many again when there is no room for one more, or four at first.
size_t RamIndex::GapBytes(const RamTrack& track) {
  const std::vector<LocationRange>& gaps = track.facts.gaps;
  return gaps.size() < gaps.capacity()
             ? 0
             : (std::max<size_t>(4, 2 * gaps.size()) - gaps.capacity()) * sizeof(LocationRange);
}

RamTrack& RamIndex::AddTrack(const TrackName& name, const Properties& properties, RamPool& pool) {
  const auto added = tracks_.try_emplace(name, &bytes_).first;
  RamTrack& track = added->second;
  track.own_name = &added->first;
  track.serial = ++serial_;
  track.facts.properties = properties;
  track.pool = &pool;
  bytes_ += CopiedBytes(name) + CopiedBytes(properties.encoded());
  table_.Add(track);
  return track;
}

RamGroup& RamIndex::AddGroup(RamTrack& track, uint64_t number) {
  auto* const group = new RamGroup;
  group->track = &track;
  group->number = number;
  group->serial = ++serial_;
  track.groups.Insert({number, group});
  group_bytes_ += group->bytes;
  return *group;
}

void RamIndex::AddObject(RamGroup& group, StoredObject stored) {
  const size_t before = group.bytes;
  group.bytes += OutsideBytes(stored.object);
  group.payload_bytes += stored.object.payload.size();
  group.absent += stored.object.AbsentBefore();
  group.objects.Insert(std::move(stored));
  group_bytes_ += group.bytes - before;
  ++object_count_;
}

const StoredObject* RamIndex::FirstIn(const RamTrack& track, const LocationRange& range) {
  for (auto at = track.groups.From(range.first.group);
       track.groups.At(at) != nullptr && track.groups.At(at)->number <= range.last.group;
       at = track.groups.Next(at)) {
    const RamGroup& group = *track.groups.At(at)->group;
    const uint64_t from = group.number == range.first.group ? range.first.object : 0;
    const StoredObject* const stored = group.objects.At(group.objects.From(from));
    if (stored != nullptr && range.Contains(stored->object.location)) {
      return stored;
    }
  }
  return nullptr;
}

GroupFacts RamGroup::facts() const {
  GroupFacts known{end, objects.size(), payload_bytes, absent};
  if (end && *end > objects.size() + absent && !track->facts.gaps.empty()) {
    // What is said not to exist is never put here, so the next object stands behind the gap.
    known.absent_count +=
        track->facts.AbsentIn(number, *end, [&](uint64_t first, uint64_t last) -> uint64_t {
          const StoredObject* const next = objects.At(objects.From(first));
          return next == nullptr
                     ? 0
                     : AbsentBehind(first, last, RunNumber(*next), next->object.AbsentBefore());
        });
  }
  return known;
}

std::optional<uint64_t> RamGroup::AbsentUpTo(uint64_t object) const {
  const StoredObject* const next = absent == 0 ? nullptr : objects.At(objects.From(object));
  const bool gone = next != nullptr && RunNumber(*next) > object &&
                    RunNumber(*next) - object <= next->object.AbsentBefore();
  return gone ? std::optional(RunNumber(*next) - 1) : std::nullopt;
}

void RamIndex::AddGap(RamTrack& track, const LocationRange& gap) {
  std::vector<LocationRange>& gaps = track.facts.gaps;
  const size_t growth = GapBytes(track);
  gaps.reserve(gaps.capacity() + growth / sizeof(LocationRange));
  gaps.push_back(gap);
  bytes_ += growth;
}

void RamIndex::EraseObject(RamGroup& group, uint64_t number) {
  const size_t before = group.bytes;
  const Object& object = group.objects.Find(number)->object;
  group.payload_bytes -= object.payload.size();
  group.absent -= object.AbsentBefore();
  group.bytes -= OutsideBytes(object);
  group.objects.Erase(number);
  group_bytes_ -= before - group.bytes;
  --object_count_;
}

void RamIndex::EraseGroup(RamGroup& group) {
  group_bytes_ -= group.bytes;
  object_count_ -= group.objects.size();
  group.track->groups.Erase(group.number);
  delete &group;
}

void RamIndex::EraseTrack(RamTrack& track) {
  bytes_ -= CopiedBytes(track.name()) + CopiedBytes(track.facts.properties.encoded()) +
            track.facts.gaps.capacity() * sizeof(LocationRange);
  table_.Remove(track);
  tracks_.erase(tracks_.find(track.name()));
}

}  // namespace kvcast
