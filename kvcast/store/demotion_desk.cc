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

bool DemotionDesk::Note(const EvictedGroup& name, Group& group, const Result<TierTicket>& ticket) {
  if (ticket.ok()) {
    writes_.insert_or_assign({group.tier, *ticket}, name);
    ++group.waiting;
    return true;
  }
  return false;
}

bool DemotionDesk::Ask(const EvictedGroup& name, Group& group, Instant now) {
  LowerTier& to = tiers_->at(group.tier);
  // A group may be larger than all that may wait for a tier.
  const auto may_wait = [&](const Result<TierTicket>& refused) {
    return group.waiting > 0 && refused.error().code() == ErrorCode::kTooLarge;
  };
  while (!group.unasked.empty()) {
    const StoredObject& next = group.unasked.front();
    const auto put = to.Put(name.track, next.object, next.received_us, now);
    if (!Note(name, group, put)) {
      return may_wait(put);
    }
    group.unasked.pop_front();
  }
  if (!group.end_asked) {
    const auto ended = to.EndGroup(name.track, {name.group, group.end}, now);
    group.end_asked = Note(name, group, ended);
    return group.end_asked || may_wait(ended);
  }
  return true;
}

bool DemotionDesk::Begin(const Leaving& leaving, Group& group, Instant now) {
  const EvictedGroup& name = leaving.contents.group;
  LowerTier& to = tiers_->at(group.tier);
  const bool told = to.Covers(name.track, leaving.facts) ||
                    Note(name, group, to.Describe(name.track, leaving.facts, now));
  if (told && Ask(name, group, now)) {
    return true;
  }
  // Some of it may come to be there, of no use alone. It is not removed: others may have been
  // promised some of it.
  std::erase_if(writes_, [&](const auto& write) {
    return write.first.first == group.tier && write.second.track == name.track &&
           write.second.group == name.group;
  });
  return false;
}

bool DemotionDesk::HasRoom(size_t tier, const Leaving& leaving, Instant now) {
  const uint64_t wanted = leaving.contents.bytes;
  const auto found = bytes_.find(tier);
  const uint64_t before = found == bytes_.end() ? 0 : found->second;
  if (!leaving.is_copy) {
    return before == 0 || before + wanted <= bytes_max_;
  }
  return before + wanted <= bytes_max_ / 2 && tiers_->at(tier).HasSpareRoom(wanted, now);
}

uint64_t DemotionDesk::bytes() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& one) { return sum + one.second; });
}

std::vector<size_t> DemotionDesk::HomesOf(const Leaving& leaving, TierKind kind) const {
  std::vector<size_t> homes;
  for (const TierKind one : {TierKind::kDisk, TierKind::kBucket}) {
    if (one >= kind && !(leaving.is_copy && one == TierKind::kBucket)) {
      std::ranges::copy(tiers_->HomesOf(leaving.contents.group.track, one),
                        std::back_inserter(homes));
    }
  }
  return homes;
}

bool DemotionDesk::Take(const Leaving& leaving, TierKind kind, Instant now) {
  const EvictedContents& contents = leaving.contents;
  if (FindIn(contents.group.track, contents.group.group) != nullptr) {
    return true;  // Once is enough.
  }
  for (const size_t tier : HomesOf(leaving, kind)) {
    if (!tiers_->at(tier).ready() || !HasRoom(tier, leaving, now) || !Admits(tier, contents)) {
      continue;
    }
    Group group;
    group.unasked.assign(contents.objects.begin(), contents.objects.end());
    group.end = *contents.end;
    group.bytes = contents.bytes;
    group.tier = tier;
    if (Begin(leaving, group, now)) {
      for (const StoredObject& stored : contents.objects) {
        group.payload_bytes += stored.object.payload.size();
        group.objects.emplace(stored.object.location.object, stored.object);
      }
      bytes_[tier] += group.bytes;
      tracks_[contents.group.track].insert_or_assign(contents.group.group, std::move(group));
      ++taken_;
      return true;
    }
  }
  refused_ += leaving.is_copy ? 0u : 1u;  // It is not lost.
  return false;
}

bool DemotionDesk::OnWritten(size_t tier, const TierWritten& written, Instant now) {
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
  --group.waiting;
  group.failed = group.failed || written.error || !Ask(name, group, now);
  if (group.waiting == 0) {
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

std::optional<uint64_t> DemotionDesk::AbsentUpTo(const TrackName& track, Location location) const {
  const Group* const group = FindIn(track, location.group);
  const auto next = group == nullptr ? std::nullopt : KeyFrom(group->objects, location.object);
  return next && *next > location.object ? std::optional(*next - 1) : std::nullopt;
}

std::optional<uint64_t> DemotionDesk::ObjectFrom(const TrackName& track, Location location) const {
  const Group* group = FindIn(track, location.group);
  return group == nullptr ? std::nullopt : KeyFrom(group->objects, location.object);
}

}  // namespace kvcast
