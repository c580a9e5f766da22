#include "kvcast/store/demotion_desk.h"

#include <iterator>
#include <string>

#include "kvcast/base/digest.h"

namespace kvcast {
namespace {

// The first eight bytes of a digest, for tables that bear a collision.
uint64_t HandleOf(std::string_view text) {
  const Digest digest = Sha256::Of(text);
  uint64_t handle = 0;
  for (size_t i = 0; i < sizeof(handle); ++i) {
    handle = handle << 8 | std::to_integer<uint64_t>(digest.bytes[i]);
  }
  return handle;
}

bool FactsAreKnown(const TrackFacts* known, const TrackFacts& facts) {
  return known != nullptr && known->largest >= facts.largest && known->end == facts.end &&
         known->gaps.size() >= facts.gaps.size();
}

}  // namespace

StoredGroup DemotionDesk::AsStored(const EvictedContents& contents, uint64_t bytes) const {
  const TrackName& track = contents.group.track;
  const auto inner = contents.objects.front().properties.Immutable();
  const auto key = inner ? inner->Find(key_property_) : std::optional<Property>();
  StoredGroup group;
  group.handle = HandleOf(key ? key->bytes + track.name()
                              : track.Render() + "/" + std::to_string(contents.group.group));
  group.track = HandleOf(track.Render());
  group.group = contents.group.group;
  group.bytes = bytes;
  return group;
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
  bool taken = FactsAreKnown(to.FindTrack(track), leaving.facts) ||
               note(to.Describe(track, leaving.facts, now));
  for (size_t i = 0; i < leaving.contents.objects.size() && taken; ++i) {
    taken = note(to.Put(track, leaving.contents.objects[i], leaving.received_us[i], now));
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

bool DemotionDesk::Take(const Leaving& leaving, Instant now) {
  Group group;
  for (const Object& object : leaving.contents.objects) {
    group.payload_bytes += object.payload.size();
    group.objects.emplace(object.location.object, object);
  }
  if (bytes_ > 0 && bytes_ + group.payload_bytes > bytes_max_) {
    ++refused_;
    return false;
  }
  const StoredGroup stored = AsStored(leaving.contents, group.payload_bytes);
  for (size_t tier = 0; tier < tiers_->size(); ++tier) {
    if (!tiers_->at(tier).ready() || !tiers_->admission(tier).Admits(stored)) {
      continue;
    }
    const auto waiting = Write(tier, leaving, now);
    if (waiting) {
      group.waiting = *waiting;
      bytes_ += group.payload_bytes;
      ++taken_;
      tracks_[leaving.contents.group.track][leaving.contents.group.group] = std::move(group);
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
  bytes_ -= found->second.at(group).payload_bytes;
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
  return found == nullptr ? std::nullopt
                          : std::optional(GroupFacts{found->objects.size(), found->objects.size(),
                                                     found->payload_bytes});
}

std::optional<uint64_t> DemotionDesk::GroupFrom(const TrackName& track, uint64_t group) const {
  const Groups* groups = Find(track);
  const auto found = groups == nullptr ? Groups::const_iterator() : groups->lower_bound(group);
  return groups == nullptr || found == groups->end() ? std::nullopt : std::optional(found->first);
}

std::optional<uint64_t> DemotionDesk::GroupUpTo(const TrackName& track, uint64_t group) const {
  const Groups* groups = Find(track);
  const auto above = groups == nullptr ? Groups::const_iterator() : groups->upper_bound(group);
  return groups == nullptr || above == groups->begin() ? std::nullopt
                                                       : std::optional(std::prev(above)->first);
}

std::optional<uint64_t> DemotionDesk::ObjectFrom(const TrackName& track, Location location) const {
  const Group* group = FindIn(track, location.group);
  if (group == nullptr) {
    return std::nullopt;
  }
  const auto object = group->objects.lower_bound(location.object);
  return object == group->objects.end() ? std::nullopt : std::optional(object->first);
}

}  // namespace kvcast
