#include "kvcast/store/ram_tier.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace kvcast {
namespace {

// What a node of a map and the allocator cost beside what is kept in it.
constexpr size_t kNodeBytes = 64;
// What others remember of an object, such as until when it may be served.
constexpr size_t kNoteBytes = 32;

size_t CostOf(const Object& object) {
  return sizeof(Object) + kNodeBytes + kNoteBytes + object.payload.size() +
         object.properties.encoded().size();
}

size_t CostOf(const TrackName& name, size_t properties_bytes) {
  return 384 + 2 * (name.space().length() + name.name().size()) + properties_bytes;
}

Error Malformed(const std::string& what) {
  return Error(ErrorCode::kMismatch, what + " contradicts what the track has brought before.");
}

}  // namespace

Result<RamTier::Tracks::iterator> RamTier::TrackFor(const TrackName& name,
                                                    size_t properties_bytes) {
  const auto found = tracks_.find(name);
  if (found != tracks_.end()) {
    return found;
  }
  const size_t cost = CostOf(name, properties_bytes);
  if (!EvictFor(cost, nullptr)) {
    return Error(ErrorCode::kTooLarge, "There is no room for one more track.");
  }
  bytes_ += cost;
  return tracks_.try_emplace(name).first;
}

Result<RamTier::Group*> RamTier::GroupFor(Tracks::iterator track, uint64_t number) {
  const auto found = track->second.groups.find(number);
  if (found != track->second.groups.end()) {
    return found->second.get();
  }
  if (!EvictFor(kGroupBytes, nullptr)) {
    return Error(ErrorCode::kTooLarge, "There is no room for one more group.");
  }
  auto group = std::make_unique<Group>();
  group->track = track;
  group->number = number;
  group->bytes = kGroupBytes;
  group->use = track->second.pinned ? uses_.end() : uses_.insert(uses_.end(), group.get());
  bytes_ += kGroupBytes;
  return (track->second.groups[number] = std::move(group)).get();
}

void RamTier::Use(Group& group) {
  if (group.use != uses_.end()) {
    uses_.splice(uses_.end(), uses_, group.use);
  }
}

Result<void> RamTier::Describe(const TrackName& track, const Properties& properties,
                               std::optional<Location> largest) {
  const bool is_new = !tracks_.contains(track);
  KVCAST_TRY(const auto found, TrackFor(track, properties.encoded().size()));
  TrackFacts& facts = found->second.facts;
  if (is_new) {
    facts.properties = properties;
  }
  if (largest && !(facts.largest && *largest < *facts.largest)) {
    facts.largest = largest;
  }
  return {};
}

Result<void> RamTier::Pin(const TrackName& track) {
  KVCAST_TRY(const auto found, TrackFor(track, 0));
  found->second.pinned = true;
  for (auto& [number, group] : found->second.groups) {
    if (group->use != uses_.end()) {
      uses_.erase(std::exchange(group->use, uses_.end()));
    }
  }
  return {};
}

Result<void> RamTier::EndGroup(const TrackName& name, uint64_t number, uint64_t end) {
  KVCAST_TRY(const auto track, TrackFor(name, 0));
  KVCAST_TRY(Group * group, GroupFor(track, number));
  if ((group->end && *group->end != end) ||
      (!group->objects.empty() && group->objects.rbegin()->first >= end)) {
    return Malformed("The end of group " + std::to_string(number));
  }
  group->end = end;
  return {};
}

Result<void> RamTier::EndTrack(const TrackName& name, Location end) {
  KVCAST_TRY(const auto track, TrackFor(name, 0));
  TrackFacts& facts = track->second.facts;
  if ((facts.end && *facts.end != end) || (facts.largest && *facts.largest >= end)) {
    return Malformed("The end at " + end.ToString());
  }
  facts.end = end;
  return {};
}

Result<bool> RamTier::Put(const TrackName& name, const Object& object) {
  const size_t cost = CostOf(object);
  if (cost + CostOf(name, 0) + kGroupBytes > bytes_max_) {
    return Error(ErrorCode::kTooLarge, "An object of " + std::to_string(object.payload.size()) +
                                           " bytes does not fit a tier of " +
                                           std::to_string(bytes_max_) + ".");
  }
  KVCAST_TRY(const auto track, TrackFor(name, 0));
  KVCAST_TRY(Group * group, GroupFor(track, object.location.group));
  Use(*group);
  const auto known = group->objects.find(object.location.object);
  if (known != group->objects.end() && known->second.ConsistentWith(object)) {
    return false;
  }
  TrackFacts& facts = track->second.facts;
  if (known != group->objects.end() || (facts.end && object.location >= *facts.end) ||
      (group->end && object.location.object >= *group->end)) {
    return Malformed("Object " + object.location.ToString());
  }
  if (!EvictFor(cost, group)) {
    return Error(ErrorCode::kTooLarge, "Group " + std::to_string(object.location.group) +
                                           " of the track does not fit the tier.");
  }
  group->objects.emplace(object.location.object, object);
  group->payload_bytes += object.payload.size();
  group->bytes += cost;
  bytes_ += cost;
  ++object_count_;
  facts.largest = std::max(facts.largest.value_or(object.location), object.location);
  return true;
}

std::optional<Object> RamTier::Get(const TrackName& name, Location location) {
  std::vector<Object> found = GetRange(name, {location, location}, 1);
  return found.empty() ? std::optional<Object>() : std::move(found.front());
}

std::vector<Object> RamTier::GetRange(const TrackName& name, const LocationRange& range,
                                      size_t count_max) {
  std::vector<Object> found;
  const auto track = tracks_.find(name);
  if (track == tracks_.end() || range.empty()) {
    return found;
  }
  auto group = track->second.groups.lower_bound(range.first.group);
  for (; group != track->second.groups.end() && group->first <= range.last.group; ++group) {
    Use(*group->second);
    const uint64_t first = group->first == range.first.group ? range.first.object : 0;
    auto object = group->second->objects.lower_bound(first);
    for (; object != group->second->objects.end() && range.Contains(object->second.location);
         ++object) {
      if (found.size() == count_max) {
        return found;
      }
      found.push_back(object->second);
    }
  }
  return found;
}

const TrackFacts* RamTier::Find(const TrackName& name) const {
  const auto track = tracks_.find(name);
  return track == tracks_.end() ? nullptr : &track->second.facts;
}

const RamTier::Group* RamTier::FindIn(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return nullptr;
  }
  const auto group = track->second.groups.find(number);
  return group == track->second.groups.end() ? nullptr : group->second.get();
}

std::optional<GroupFacts> RamTier::FindGroup(const TrackName& name, uint64_t number) const {
  const Group* group = FindIn(name, number);
  return group == nullptr
             ? std::nullopt
             : std::optional(GroupFacts{group->end, group->objects.size(), group->payload_bytes});
}

std::optional<uint64_t> RamTier::GroupFrom(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return std::nullopt;
  }
  const auto group = track->second.groups.lower_bound(number);
  return group == track->second.groups.end() ? std::nullopt : std::optional(group->first);
}

std::optional<uint64_t> RamTier::GroupUpTo(const TrackName& name, uint64_t number) const {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return std::nullopt;
  }
  const auto above = track->second.groups.upper_bound(number);
  return above == track->second.groups.begin() ? std::nullopt
                                               : std::optional(std::prev(above)->first);
}

void RamTier::Remove(const TrackName& name, uint64_t number) {
  if (const Group* group = FindIn(name, number)) {
    Erase(*tracks_.find(name)->second.groups.at(group->number));
  }
}

void RamTier::Remove(const TrackName& name, Location location) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end()) {
    return;
  }
  const auto found = track->second.groups.find(location.group);
  if (found == track->second.groups.end()) {
    return;
  }
  Group& group = *found->second;
  const auto object = group.objects.find(location.object);
  if (object == group.objects.end()) {
    return;
  }
  const size_t cost = CostOf(object->second);
  group.payload_bytes -= object->second.payload.size();
  group.bytes -= cost;
  bytes_ -= cost;
  --object_count_;
  group.objects.erase(object);
  if (group.objects.empty()) {
    Erase(group);
  }
}

bool RamTier::Forget(const TrackName& name) {
  const auto track = tracks_.find(name);
  if (track == tracks_.end() || !track->second.groups.empty()) {
    return track == tracks_.end();
  }
  bytes_ -= CostOf(name, track->second.facts.properties.encoded().size());
  tracks_.erase(track);
  return true;
}

std::vector<EvictedGroup> RamTier::TakeEvicted() {
  std::vector<EvictedGroup> groups;
  for (EvictedContents& evicted : TakeEvictedContents()) {
    groups.push_back(std::move(evicted.group));
  }
  return groups;
}

bool RamTier::EvictFor(size_t bytes, const Group* keep) {
  auto next = uses_.begin();
  while (bytes_ + bytes > bytes_max_ && next != uses_.end()) {
    Group* const group = *next++;
    if (group != keep) {
      evicted_.push_back({{group->track->first, group->number}, group->end, {}});
      if (hands_over_) {
        for (auto& [number, object] : group->objects) {
          evicted_.back().objects.push_back(std::move(object));
        }
      }
      Erase(*group);
    }
  }
  return bytes_ + bytes <= bytes_max_;
}

void RamTier::Erase(Group& group) {
  bytes_ -= group.bytes;
  object_count_ -= group.objects.size();
  if (group.use != uses_.end()) {
    uses_.erase(group.use);
  }
  group.track->second.groups.erase(group.number);
}

}  // namespace kvcast
