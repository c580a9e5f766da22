#include "kvcast/store/demotion_desk.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "kvcast/store/nearest_key.h"

namespace kvcast {

bool DemotionDesk::Admits(size_t tier, const EvictedContents& contents) {
  const auto& [track, group] = contents.group;
  return tiers_->admission(tier).Admits({handles_.OfGroup(track, group, contents.key),
                                         handles_.OfTrack(track), group, contents.bytes});
}

std::optional<size_t> DemotionDesk::Write(size_t tier, const Leaving& leaving, Instant now) {
  LowerTier& to = tiers_->at(tier);
  const TrackName& track = leaving.contents.group.track;
  const uint64_t group = leaving.contents.group.group;
  size_t waiting = 0;
  const auto note = [&](const Result<TierTicket>& ticket) {
    if (ticket.ok()) {
      writes_.insert_or_assign({tier, *ticket}, EvictedGroup{track, group});
      ++waiting;
    }
    return ticket.ok();
  };
  bool taken = to.Covers(track, leaving.facts) || note(to.Describe(track, leaving.facts, now));
  for (size_t i = 0; i < leaving.contents.objects.size() && taken; ++i) {
    const StoredObject& stored = leaving.contents.objects[i];
    taken = note(to.Put(track, stored.object, stored.received_us, now));
  }
  taken = taken && note(to.EndGroup(track, {group, *leaving.contents.end}, now));
  if (taken) {
    return waiting;
  }
  // Some of it may come to be there, of no use alone. It is not removed: others may have been
  // promised some of it.
  std::erase_if(writes_, [&](const auto& write) {
    return write.first.first == tier && write.second.track == track && write.second.group == group;
  });
  return std::nullopt;
}

bool DemotionDesk::HasRoom(size_t tier, const EvictedContents& contents) const {
  const auto found = bytes_.find(tier);
  return found == bytes_.end() || found->second == 0 ||
         found->second + contents.bytes <= bytes_max_;
}

uint64_t DemotionDesk::bytes() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& one) { return sum + one.second; });
}

std::vector<size_t> DemotionDesk::HomesOf(const TrackName& track, TierKind kind) const {
  std::vector<size_t> homes;
  for (const TierKind one : {TierKind::kDisk, TierKind::kBucket}) {
    if (one >= kind) {
      std::ranges::copy(tiers_->HomesOf(track, one), std::back_inserter(homes));
    }
  }
  return homes;
}

bool DemotionDesk::Take(const Leaving& leaving, TierKind kind, Instant now) {
  const EvictedContents& contents = leaving.contents;
  if (FindIn(contents.group.track, contents.group.group) != nullptr) {
    return true;  // Once is enough.
  }
  for (const size_t tier : HomesOf(contents.group.track, kind)) {
    if (!tiers_->at(tier).ready() || !HasRoom(tier, contents) || !Admits(tier, contents)) {
      continue;
    }
    if (const auto waiting = Write(tier, leaving, now)) {
      Group& group = tracks_[contents.group.track][contents.group.group];
      for (const StoredObject& stored : contents.objects) {
        group.payload_bytes += stored.object.payload.size();
        group.objects.emplace(stored.object.location.object, stored.object);
      }
      group.end = *contents.end;
      group.bytes = contents.bytes;
      group.tier = tier;
      group.waiting = *waiting;
      bytes_[tier] += group.bytes;
      ++taken_;
      return true;
    }
  }
  ++refused_;
  return false;
}

bool DemotionDesk::OnWritten(size_t tier, const TierWritten& written) {
  const auto found = writes_.find({tier, written.ticket});
  if (found == writes_.end()) {
    return false;
  }
  const EvictedGroup name = std::move(found->second);
  writes_.erase(found);
  const auto track = tracks_.find(name.track);
  if (track == tracks_.end() || !track->second.contains(name.group)) {
    return true;  // It was dropped meanwhile.
  }
  Group& group = track->second.at(name.group);
  group.failed = group.failed || written.error;
  if (--group.waiting == 0) {
    failed_ += group.failed ? 1 : 0;
    Erase(name.track, name.group);
    finished_.push_back(name);
  }
  return true;
}

void DemotionDesk::Drop(const TrackName& track, uint64_t group) {
  if (FindIn(track, group) != nullptr) {
    std::erase_if(writes_, [&](const auto& write) {
      return write.second.track == track && write.second.group == group;
    });
    Erase(track, group);
  }
}

void DemotionDesk::Erase(const TrackName& track, uint64_t group) {
  const auto found = tracks_.find(track);
  const Group& erased = found->second.at(group);
  bytes_.at(erased.tier) -= erased.bytes;
  found->second.erase(group);
  if (found->second.empty()) {
    tracks_.erase(found);
  }
}

const DemotionDesk::Groups* DemotionDesk::Find(const TrackName& track) const {
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? nullptr : &found->second;
}

const DemotionDesk::Group* DemotionDesk::FindIn(const TrackName& track, uint64_t group) const {
  const Groups* groups = Find(track);
  const auto found = groups == nullptr ? Groups::const_iterator() : groups->find(group);
  return groups == nullptr || found == groups->end() ? nullptr : &found->second;
}

const Object* DemotionDesk::Find(const TrackName& track, Location location) const {
  const Group* group = FindIn(track, location.group);
  if (group == nullptr) {
    return nullptr;
  }
  const auto object = group->objects.find(location.object);
  return object == group->objects.end() ? nullptr : &object->second;
}

std::optional<GroupFacts> DemotionDesk::FindGroup(const TrackName& track, uint64_t group) const {
  const Group* found = FindIn(track, group);
  if (found == nullptr) {
    return std::nullopt;
  }
  // It is whole: what is not here before its end does not exist.
  return GroupFacts{found->end, found->objects.size(), found->payload_bytes,
                    found->end - found->objects.size()};
}

std::optional<uint64_t> DemotionDesk::GroupFrom(const TrackName& track, uint64_t group) const {
  const Groups* groups = Find(track);
  return groups == nullptr ? std::nullopt : KeyFrom(*groups, group);
}

std::optional<uint64_t> DemotionDesk::GroupUpTo(const TrackName& track, uint64_t group) const {
  const Groups* groups = Find(track);
  return groups == nullptr ? std::nullopt : KeyUpTo(*groups, group);
}

std::optional<uint64_t> DemotionDesk::ObjectFrom(const TrackName& track, Location location) const {
  const Group* group = FindIn(track, location.group);
  return group == nullptr ? std::nullopt : KeyFrom(group->objects, location.object);
}

}  // namespace kvcast
