#include "kvcast/store/disk_index.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/store/nearest_key.h"

namespace kvcast {
namespace {

// What a string takes from the heap. A name's fields are packed with at most two bytes each.
size_t HeapOf(size_t length) { return length < 16 ? 0 : length + 1; }
size_t HeapOf(const TrackFacts& facts) {
  return HeapOf(facts.properties.encoded().capacity()) +
         facts.gaps.capacity() * sizeof(LocationRange);
}

}  // namespace

size_t HeapBytesOf(const TrackName& name) {
  return HeapOf(name.space().length() + 2 * name.space().field_count()) +
         HeapOf(name.name().size());
}

DiskIndex::Track& DiskIndex::TrackFor(const TrackName& name) {
  const auto found = tracks_.find(name);
  if (found != tracks_.end()) {
    return found->second;
  }
  bytes_ += HeapBytesOf(name);
  return tracks_.try_emplace(name, &bytes_).first->second;
}

DiskIndex::Group& DiskIndex::GroupFor(Track& track, uint64_t number) {
  return track.groups.try_emplace(number, &bytes_).first->second;
}

const DiskIndex::Group* DiskIndex::GroupIn(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return nullptr;
  }
  const auto group = track->second.groups.find(number);
  return group == track->second.groups.end() ? nullptr : &group->second;
}

DiskIndex::Indexed* DiskIndex::ObjectIn(const TrackName& name, Location location) {
  // The group is ours, and not const.
  auto* const group = const_cast<Group*>(GroupIn(name, location.group));
  if (group == nullptr) {
    return nullptr;
  }
  const auto found =
      std::ranges::lower_bound(group->objects, location.object, {}, &Indexed::object);
  return found == group->objects.end() || found->object != location.object ? nullptr : &*found;
}

void DiskIndex::Apply(const SegmentContents& contents, uint32_t segment) {
  // A track is looked up once, and again where something may have been removed since.
  std::vector<Track*> tracks(contents.tracks.size());
  for (const SegmentEntry& entry : contents.entries) {
    const DiskPlace place{segment, entry.offset};
    const auto* const object = std::get_if<ObjectEntry>(&entry.body);
    if (object == nullptr) {
      Apply(contents.track_of(entry), entry.body, place, entry.length);
      std::ranges::fill(tracks, nullptr);
      continue;
    }
    Track*& track = tracks[entry.track];
    if (track == nullptr) {
      track = &TrackFor(contents.track_of(entry));
    }
    Put(*track, *object, place, entry.length);
  }
}

void DiskIndex::Apply(const TrackName& track, const EntryBody& body, DiskPlace place,
                      uint32_t length) {
  if (const auto* object = std::get_if<ObjectEntry>(&body)) {
    Put(TrackFor(track), *object, place, length);
  } else if (const auto* facts = std::get_if<TrackFacts>(&body)) {
    Track& found = TrackFor(track);
    Merge(found, *facts);
    found.last = std::max(found.last, place);
    // Segments become durable in any order, and what stands first may be removed by what follows.
    if (found.written < place) {
      SetWritten(found, place, length, facts->largest);
      found.written_all = SaysAll(*facts, found.facts);
    }
  } else if (const auto* end = std::get_if<GroupEnd>(&body)) {
    LearnGroupEnd(track, *end);
  } else {
    Removal removal = std::get<Removal>(body);
    removal.before = removal.before == DiskPlace() ? place : removal.before;
    EraseWhere(track, removal.group, [&](DiskPlace stood) { return stood < removal.before; });
  }
}

void DiskIndex::Put(Track& track, const ObjectEntry& entry, DiskPlace place, uint32_t length) {
  track.last = std::max(track.last, place);
  track.facts.largest = std::max(track.facts.largest.value_or(entry.location), entry.location);
  Group& group = GroupFor(track, entry.location.group);
  Indexed indexed{entry.location.object,
                  place.segment,
                  static_cast<uint32_t>(place.offset / kRecordAlignment),
                  length,
                  entry.payload_bytes,
                  entry.identity,
                  entry.absent};
  if (entry.key && entry.location.object == 0) {
    group.key = entry.key;
  }
  const auto at = std::ranges::lower_bound(group.objects, indexed.object, {}, &Indexed::object);
  if (at != group.objects.end() && at->object == indexed.object) {
    // What one copy says, and another does not, was said.
    indexed.absent = std::max(indexed.absent, at->absent);
    group.absent += indexed.absent - at->absent;
    if (place < at->place()) {
      at->absent = indexed.absent;
      return;
    }
    DiscountLive(at->segment, RecordUp(at->length));
    group.payload_bytes -= at->payload_bytes;
    group.record_bytes -= RecordUp(at->length);
    *at = indexed;
  } else {
    group.objects.insert(at, indexed);
    group.absent += indexed.absent;
    ++object_count_;
  }
  live_bytes_[place.segment] += RecordUp(length);
  group.payload_bytes += entry.payload_bytes;
  group.record_bytes += RecordUp(length);
}

void DiskIndex::DiscountLive(uint32_t segment, uint64_t bytes) {
  const auto found = live_bytes_.find(segment);
  found->second -= bytes;
  if (found->second == 0) {
    live_bytes_.erase(found);
  }
}

size_t DiskIndex::EraseIf(Group& found, const std::function<bool(const Indexed&)>& goes) {
  const size_t erased = std::erase_if(found.objects, [&](const Indexed& object) {
    if (!goes(object)) {
      return false;
    }
    DiscountLive(object.segment, RecordUp(object.length));
    found.payload_bytes -= object.payload_bytes;
    found.record_bytes -= RecordUp(object.length);
    found.absent -= object.absent;
    return true;
  });
  object_count_ -= erased;
  return erased;
}

void DiskIndex::EraseWhere(const TrackName& name, std::optional<uint64_t> only,
                           const std::function<bool(DiskPlace)>& goes) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  GroupMap& groups = track->second.groups;
  auto group = only ? groups.find(*only) : groups.begin();
  while (group != groups.end()) {
    const auto next = std::next(group);
    EraseIf(group->second, [&](const Indexed& object) { return goes(object.place()); });
    if (group->second.objects.empty()) {
      groups.erase(group);
    }
    if (only) {
      return;
    }
    group = next;
  }
  if (!only && groups.empty() && goes(track->second.last)) {
    EraseTrackAt(track);
  }
}

void DiskIndex::EraseTrackAt(TrackMap::iterator track) {
  SetWritten(track->second, {}, 0, std::nullopt);
  bytes_ -= HeapBytesOf(track->first) + track->second.facts_bytes;
  tracks_.erase(track);
}

void DiskIndex::SetWritten(Track& track, DiskPlace place, uint32_t length,
                           std::optional<Location> largest) {
  const auto before = fact_bytes_.find(track.written.segment);
  if (before != fact_bytes_.end()) {
    before->second -= track.written_bytes;
    if (before->second == 0) {
      fact_bytes_.erase(before);
    }
  }
  track.written = place;
  track.written_bytes = static_cast<uint32_t>(RecordUp(length));
  track.written_largest = largest;
  if (length > 0) {
    fact_bytes_[place.segment] += track.written_bytes;
  }
}

std::optional<DiskIndex::Found> DiskIndex::Find(const TrackName& track, Location location) const {
  const Indexed* object = const_cast<DiskIndex*>(this)->ObjectIn(track, location);
  return object == nullptr
             ? std::nullopt
             : std::optional(Found{object->place(), object->length, object->identity});
}

std::optional<DiskIndex::Found> DiskIndex::Use(const TrackName& track, Location location) {
  const auto found = Find(track, location);
  if (found) {
    const_cast<Group*>(GroupIn(track, location.group))->used = true;
  }
  return found;
}

Result<void> DiskIndex::CheckSame(const TrackName& track, const Object& object,
                                  std::optional<uint32_t> waiting) const {
  const auto found = Find(track, object.location);
  if (!found && !waiting) {
    return {};
  }
  const RecordBody body = StoredObject{object, 0};
  KVCAST_TRY(const RecordDraft draft, RecordDraft::Of({track, body}));
  const EntryBody entry = EntryOf(body, draft.payload_sum(), 0);
  const uint32_t identity = std::get<ObjectEntry>(entry).identity;
  if (identity != waiting.value_or(identity) || (found && identity != found->identity)) {
    return Error(ErrorCode::kMismatch,
                 "Another object stands at " + object.location.ToString() + ".");
  }
  return {};
}

Presence DiskIndex::PresenceOf(const TrackName& name, Location location) const {
  if (Find(name, location)) {
    return Presence::kExists;
  }
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return Presence::kUnknown;
  }
  const TrackFacts& facts = track->second.facts;
  const Group* group = GroupIn(name, location.group);
  const bool gone = facts.IsGone(location) ||
                    (group != nullptr && group->end && location.object >= *group->end) ||
                    AbsentUpTo(name, location);
  return gone ? Presence::kGone : Presence::kUnknown;
}

const TrackFacts* DiskIndex::FindTrack(const TrackName& name) const {
  const auto track = tracks_.find(name);
  return track == tracks_.end() ? nullptr : &track->second.facts;
}

std::optional<uint64_t> DiskIndex::GroupFrom(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  return track == tracks_.end() ? std::nullopt : KeyFrom(track->second.groups, number);
}

std::optional<uint64_t> DiskIndex::GroupUpTo(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  return track == tracks_.end() ? std::nullopt : KeyUpTo(track->second.groups, number);
}

std::optional<uint64_t> DiskIndex::ObjectFrom(const TrackName& name, Location location) const {
  const Group* group = GroupIn(name, location.group);
  if (group == nullptr) {
    return std::nullopt;
  }
  const auto found = std::lower_bound(
      group->objects.begin(), group->objects.end(), location.object,
      [](const Indexed& indexed, uint64_t object) { return indexed.object < object; });
  return found == group->objects.end() ? std::nullopt : std::optional(found->object);
}

std::optional<uint64_t> DiskIndex::LastObject(const TrackName& name, uint64_t number) const {
  const Group* group = GroupIn(name, number);
  return group == nullptr || group->objects.empty() ? std::nullopt
                                                    : std::optional(group->objects.back().object);
}

bool DiskIndex::GroupUsed(const TrackName& name, uint64_t number) const {
  const Group* group = GroupIn(name, number);
  return group != nullptr && group->used;
}

void DiskIndex::ClearUse(const TrackName& name, uint64_t number) {
  if (auto* const group = const_cast<Group*>(GroupIn(name, number))) {
    group->used = false;
  }
}

uint64_t DiskIndex::RecordBytes(const TrackName& name, uint64_t number) const {
  const Group* const group = GroupIn(name, number);
  return group == nullptr ? 0 : group->record_bytes;
}

std::vector<SegmentShare> DiskIndex::SharesOf(const TrackName& name, uint64_t number) const {
  std::vector<SegmentShare> shares;
  const Group* const group = GroupIn(name, number);
  if (group == nullptr) {
    return shares;
  }
  for (const Indexed& object : group->objects) {
    auto share = std::ranges::find(shares, object.segment, &SegmentShare::segment);
    if (share == shares.end()) {
      share = shares.insert(share, {object.segment, 0});
    }
    share->bytes += RecordUp(object.length);
  }
  return shares;
}

DiskPlace DiskIndex::LastPlace(const TrackName& name, uint64_t number) const {
  const Group* const group = GroupIn(name, number);
  DiskPlace last;
  for (size_t i = 0; group != nullptr && i < group->objects.size(); ++i) {
    last = std::max(last, group->objects[i].place());
  }
  return last;
}

bool DiskIndex::FactsNeed(const TrackName& name, uint32_t segment) const {
  const auto track = tracks_.find(name);
  return track != tracks_.end() &&
         (track->second.written.segment == segment || !track->second.written_all ||
          track->second.written_largest < track->second.facts.largest);
}

bool DiskIndex::SaysAll(const TrackFacts& facts, const TrackFacts& known) {
  return facts.properties == known.properties && facts.end == known.end &&
         (facts.gaps == known.gaps ||
          std::ranges::all_of(known.gaps, [&](const auto& gap) { return facts.HasGap(gap); }));
}

void DiskIndex::Merge(Track& track, const TrackFacts& facts) {
  TrackFacts& known = track.facts;
  bool adds = (known.properties.empty() && !facts.properties.empty()) || (!known.end && facts.end);
  if (known.properties.empty()) {
    known.properties = facts.properties;
  }
  known.largest = std::max(known.largest, facts.largest);
  known.end = known.end ? known.end : facts.end;
  for (const LocationRange& gap : facts.gaps) {
    if (known.gaps.size() < kGapsMax && !known.HasGap(gap)) {
      known.gaps.push_back(gap);
      adds = true;
    }
  }
  track.written_all = track.written_all && !adds;
  const size_t heap = HeapOf(known);
  bytes_ += heap - track.facts_bytes;
  track.facts_bytes = heap;
}

bool DiskIndex::Learn(const TrackName& name, const TrackFacts& facts) {
  const bool is_new = !tracks_.contains(name);
  Track& track = TrackFor(name);
  const TrackFacts before = track.facts;
  Merge(track, facts);
  return is_new || !(track.facts == before);
}

bool DiskIndex::LearnGroupEnd(const TrackName& name, const GroupEnd& end) {
  Group& group = GroupFor(TrackFor(name), end.group);
  return !std::exchange(group.end, end.end);
}

void DiskIndex::Move(const TrackName& name, Location location, DiskPlace place, uint32_t length) {
  Indexed* const object = ObjectIn(name, location);
  KVCAST_CHECK(object != nullptr);
  DiscountLive(object->segment, RecordUp(object->length));
  live_bytes_[place.segment] += RecordUp(length);
  auto* const group = const_cast<Group*>(GroupIn(name, location.group));
  group->record_bytes += RecordUp(length) - RecordUp(object->length);
  object->segment = place.segment;
  object->unit = static_cast<uint32_t>(place.offset / kRecordAlignment);
  object->length = length;
}

void DiskIndex::MoveFacts(const TrackName& name, DiskPlace place,
                          const std::function<bool(DiskPlace)>& goes) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  track->second.last = place;
  if (goes(track->second.written)) {
    SetWritten(track->second, {}, 0, std::nullopt);
    track->second.written_all = false;
  }
}

void DiskIndex::Erase(const TrackName& name, Location location, DiskPlace place) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  const auto group = track->second.groups.find(location.group);
  if (group != track->second.groups.end()) {
    const size_t erased = EraseIf(group->second, [&](const Indexed& object) {
      return object.object == location.object && object.place() == place;
    });
    if (erased > 0 && group->second.objects.empty()) {
      track->second.groups.erase(group);
    }
  }
}

DiskIndex::Erased DiskIndex::EraseGroup(const TrackName& name, uint64_t number, uint32_t segment) {
  Erased erased;
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return erased;
  }
  const auto group = track->second.groups.find(number);
  if (group != track->second.groups.end()) {
    erased.objects = EraseIf(group->second, [&](const Indexed& object) {
      if (object.segment != segment) {
        erased.elsewhere = std::max(erased.elsewhere, std::optional(object.place()));
      }
      return true;
    });
    track->second.groups.erase(group);
  }
  return erased;
}

size_t DiskIndex::EraseShare(const TrackName& name, uint64_t number, uint32_t segment) {
  auto* const group = const_cast<Group*>(GroupIn(name, number));
  if (group == nullptr) {
    return 0;
  }
  const size_t erased =
      EraseIf(*group, [&](const Indexed& object) { return object.segment == segment; });
  if (group->objects.empty() && !group->end) {
    tracks_.find(name)->second.groups.erase(number);
  }
  return erased;
}

void DiskIndex::EraseTrack(const TrackName& name) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  for (auto& [number, group] : track->second.groups) {
    EraseIf(group, [](const Indexed&) { return true; });
  }
  EraseTrackAt(track);
}

void DiskIndex::EraseHollowGroups() {
  for (auto& named : tracks_) {
    auto& track = named.second;
    std::erase_if(track.groups, [&](const auto& one) {
      return one.second.objects.empty() && FactsOf(track, one.first, one.second).hollow();
    });
  }
}

std::vector<EvictedGroup> DiskIndex::EraseSegment(uint32_t segment) {
  std::vector<EvictedGroup> touched;
  for (auto& [name, track] : tracks_) {
    for (auto group = track.groups.begin(); group != track.groups.end();) {
      const auto next = std::next(group);
      if (EraseIf(group->second, [&](const Indexed& object) { return object.segment == segment; }) >
          0) {
        touched.push_back({name, group->first});
        if (group->second.objects.empty()) {
          track.groups.erase(group);
        }
      }
      group = next;
    }
  }
  live_bytes_.erase(segment);
  return touched;
}

uint64_t DiskIndex::LiveBytes(uint32_t segment) const {
  const auto found = live_bytes_.find(segment);
  return found == live_bytes_.end() ? 0 : found->second;
}

uint64_t DiskIndex::FactBytes(uint32_t segment) const {
  const auto found = fact_bytes_.find(segment);
  return found == fact_bytes_.end() ? 0 : found->second;
}

}  // namespace kvcast
