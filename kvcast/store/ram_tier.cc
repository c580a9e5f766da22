#include "kvcast/store/ram_tier.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvcast {
namespace {

// What a node of a map and the allocator cost beside what is kept in it.
constexpr size_t kNodeBytes = 64;

size_t CostOf(const Object& object) {
  return sizeof(Object) + kNodeBytes + object.payload.size() + object.properties.encoded().size();
}

size_t CostOf(const TrackName& name) {
  return 256 + 2 * (name.space().length() + name.name().size());
}

}  // namespace

RamTier::Track& RamTier::TrackFor(const TrackName& name) {
  const auto [track, is_new] = tracks_.try_emplace(name);
  if (is_new) {
    bytes_ += CostOf(name);
  }
  return track->second;
}

RamTier::Group& RamTier::GroupFor(const TrackName& name, uint64_t number) {
  Track& track = TrackFor(name);
  std::unique_ptr<Group>& group = track.groups[number];
  if (group == nullptr) {
    group = std::make_unique<Group>();
    group->track = &tracks_.find(name)->first;
    group->number = number;
    group->bytes = sizeof(Group) + 2 * kNodeBytes;
    group->use = uses_.insert(uses_.end(), group.get());
    bytes_ += group->bytes;
  }
  return *group;
}

void RamTier::Describe(const TrackName& track, const Properties& properties) {
  TrackFor(track).facts.properties = properties;
}

void RamTier::EndTrack(const TrackName& track) { TrackFor(track).facts.ended = true; }

Result<void> RamTier::Put(const TrackName& name, const Object& object) {
  const size_t cost = CostOf(object);
  if (cost + CostOf(name) + sizeof(Group) + 2 * kNodeBytes > bytes_max_) {
    return Error(ErrorCode::kTooLarge, "An object of " + std::to_string(object.payload.size()) +
                                           " bytes does not fit a tier of " +
                                           std::to_string(bytes_max_) + ".");
  }
  const auto track = tracks_.find(name);
  if (track != tracks_.end()) {
    const auto group = track->second.groups.find(object.location.group);
    if (group != track->second.groups.end()) {
      const auto known = group->second->objects.find(object.location.object);
      if (known != group->second->objects.end()) {
        Use(*group->second);
        return known->second.ConsistentWith(object)
                   ? Result<void>()
                   : Error(ErrorCode::kMismatch, "Another object already stands at " +
                                                     object.location.ToString() + " of the track.");
      }
    }
  }
  Group& group = GroupFor(name, object.location.group);
  Use(group);
  EvictFor(cost, &group);
  if (bytes_ + cost > bytes_max_) {
    return Error(ErrorCode::kTooLarge, "Group " + std::to_string(object.location.group) +
                                           " of the track does not fit the tier.");
  }
  group.objects.emplace(object.location.object, object);
  group.bytes += cost;
  bytes_ += cost;
  ++object_count_;
  std::optional<Location>& largest = tracks_.find(name)->second.facts.largest;
  largest = std::max(largest.value_or(object.location), object.location);
  return {};
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

std::vector<EvictedGroup> RamTier::TakeEvicted() { return std::exchange(evicted_, {}); }

void RamTier::EvictFor(size_t bytes, const Group* keep) {
  auto next = uses_.begin();
  while (bytes_ + bytes > bytes_max_ && next != uses_.end()) {
    Group* const group = *next++;
    if (group != keep) {
      Evict(*group);
    }
  }
}

void RamTier::Evict(Group& group) {
  evicted_.push_back({*group.track, group.number});
  bytes_ -= group.bytes;
  object_count_ -= group.objects.size();
  uses_.erase(group.use);
  tracks_.find(*group.track)->second.groups.erase(group.number);
}

}  // namespace kvcast
