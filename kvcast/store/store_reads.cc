// What a store gives back: from memory at once, from below when it has come.
#include <algorithm>
#include <utility>

#include "kvcast/store/store.h"

namespace kvcast {
namespace {

// A payload smaller than this is copied when it comes up: what was read for it is whole blocks, and
// must not stay for a few bytes.
constexpr size_t kCopyBelowBytes = 64 << 10;
// So many places are looked at in one go for what is to be warm.
constexpr size_t kLookAtMost = 4096;
// Clocks of nodes that share a bucket may differ by this.
constexpr uint64_t kClocksApartUs = 10'000'000;

}  // namespace

Store::Got Store::Get(const TrackName& track, Location location, Instant now,
                      std::optional<Duration> patience) {
  if (std::optional<Object> here = ram_.Get(track, location)) {
    return *std::move(here);
  }
  if (const Object* moving = demotions_.Find(track, location)) {
    return *moving;
  }
  if ((!patience || *patience > Duration::zero()) &&
      desk_.Ask(last_ticket_ + 1, track, location, now, patience)) {
    return ++last_ticket_;
  }
  ++counts_.misses;
  return std::monostate();
}

bool Store::Warm(const TrackName& track, const LocationRange& range, Instant now) {
  const bool taken = warming_.Add(track, range);
  WarmSome(now);
  return taken;
}

void Store::WarmSome(Instant now) {
  warm_again_.reset();
  for (size_t looks = 0; WarmQueue::Range* next = warming_.Front(desk_.prefetching(), now);
       ++looks) {
    if (looks == kLookAtMost) {
      warm_again_ = now;
      return;
    }
    const TrackName& track = next->track;
    const auto group = tiers_.GroupFrom(track, next->next.group);
    if (!group || *group > next->range.last.group) {
      warming_.PopFront();
      continue;
    }
    const uint64_t first = *group == next->next.group ? next->next.object : 0;
    const auto object = tiers_.ObjectFrom(track, {*group, first});
    const Location at{*group, object.value_or(LocationRange::kWholeGroup)};
    if (object && next->range.Contains(at) && ram_.Look(track, at) == nullptr) {
      (void)desk_.Prefetch(track, at, now);
    }
    if (at >= next->range.last) {
      warming_.PopFront();
    } else {
      next->next = at.object == LocationRange::kWholeGroup ? Location{at.group + 1, 0}
                                                           : Location{at.group, at.object + 1};
    }
  }
}

void Store::OnTime(Instant now) {
  tiers_touched_ = true;
  ram_.OnTime(now);
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    tiers_.at(tier).OnTime(now);
  }
  TellInTime(now);
  GiveUpLate(now);
  spares_.GoOn(now);
  Pump(now);
}

std::optional<Instant> Store::deadline() const {
  std::optional<Instant> first = warm_again_;
  const auto take = [&](std::optional<Instant> other) {
    first = other && (!first || *other < *first) ? other : first;
  };
  take(tell_again_);
  take(spares_.deadline());
  take(FirstLate());
  if (std::exchange(tiers_touched_, false)) {
    tiers_deadline_.reset();
    for (size_t tier = 0; tier < tiers_.size(); ++tier) {
      const std::optional<Instant> at = tiers_.at(tier).deadline();
      tiers_deadline_ = at && (!tiers_deadline_ || *at < *tiers_deadline_) ? at : tiers_deadline_;
    }
  }
  take(tiers_deadline_);
  take(ram_.deadline());
  take(desk_.deadline());
  take(warming_.deadline());
  return first;
}

std::optional<StoreEvent> Store::Next() {
  if (events_.empty()) {
    return std::nullopt;
  }
  StoreEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Store::Pump(Instant now) {
  for (bool more = true; more;) {
    more = false;
    for (size_t tier = 0; tier < tiers_.size(); ++tier) {
      if (tiers_.at(tier).ready() && !was_ready_[tier]) {
        was_ready_[tier] = true;
        spares_.Restart(now);
        events_.push_back(StoreTierReady{tier});
      }
      while (std::optional<TierEvent> event = tiers_.at(tier).Next()) {
        On(tier, *std::move(event), now);
        more = true;
      }
    }
    desk_.Pump(now);
    for (ReadDesk::Finished& finished : desk_.TakeFinished()) {
      OnFinished(std::move(finished), now);
      more = true;
    }
    WarmSome(now);  // After what came was paid for.
    for (EvictedGroup& arrived : demotions_.TakeFinished()) {
      spares_.Look(arrived.track, arrived.group);
      events_.push_back(StoreMoved{std::move(arrived)});
    }
  }
}

void Store::On(size_t tier, TierEvent event, Instant now) {
  if (auto* read = std::get_if<TierRead>(&event)) {
    (void)desk_.OnRead(tier, std::move(*read), now);
  } else if (auto* evicted = std::get_if<TierEvicted>(&event)) {
    const auto& [track, group] = evicted->group;
    const bool barred = evicted->contents && !evicted->contents->objects.empty() &&
                        IsBarred(track, evicted->contents->objects.front().received_us);
    if (evicted->contents && !barred && !tiers_.HasWhole(track, group, TierKind::kBucket)) {
      (void)Demote(*std::move(evicted->contents), TierKind::kBucket, now);
    }
    spares_.Look(track, group);
    events_.push_back(StoreMoved{std::move(evicted->group)});
  } else if (auto* arrived = std::get_if<TierArrived>(&event)) {
    spares_.Look(arrived->group.track, arrived->group.group);
    events_.push_back(StoreArrived{std::move(arrived->group)});
  } else if (auto* told = std::get_if<TierTold>(&event)) {
    if (told->group) {
      spares_.Look(told->track, *told->group);
    }
    events_.push_back(StoreTold{std::move(told->track), told->group});
  } else {
    const TierWritten& written = std::get<TierWritten>(event);
    if (const auto pledge = pledges_.Take(tier, written.ticket)) {
      Settle(tier, *pledge, written.error);
    } else {
      (void)demotions_.OnWritten(tier, written, now);
    }
  }
}

std::optional<uint64_t> Store::LeftOf(const TrackName& track, const StoredObject& stored,
                                      Instant now) const {
  const std::optional<TrackFacts> facts = Find(track);
  const auto most =
      facts && options_.max_cache_ms ? options_.max_cache_ms(facts->properties) : std::nullopt;
  if (!most) {
    return std::nullopt;
  }
  // It has not come yet: the clock was set back since, or another node's is fast. Nobody can tell
  // how old it is, and it must not be kept the longer for that.
  if (stored.received_us > WallAt(now) + kClocksApartUs) {
    return 0;
  }
  const uint64_t age_ms = (WallAt(now) - std::min(WallAt(now), stored.received_us)) / 1000;
  return *most - std::min(*most, age_ms);
}

void Store::OnFinished(ReadDesk::Finished finished, Instant now) {
  const auto left = finished.found ? LeftOf(finished.track, *finished.found, now) : std::nullopt;
  if (left == uint64_t{0}) {
    ++counts_.expired;
    finished.found.reset();
    Remove(finished.track, finished.location.group, now);
    events_.push_back(StoreMoved{{finished.track, finished.location.group}});
    if (IsBelow(finished.track, finished.location.group)) {
      events_.push_back(StoreDue{{finished.track, finished.location.group}, 0});
    }
  } else if (left) {
    events_.push_back(StoreDue{{finished.track, finished.location.group}, *left});
  }
  if (finished.found && IsBarred(finished.track, finished.found->received_us)) {
    finished.found.reset();
  }
  if (finished.found) {
    if (finished.prefetch) {
      warming_.Spend(finished.found->object.payload.size());
    }
    Promote(finished.track, *finished.found, now);
  }
  (finished.found ? counts_.lower_hits : counts_.misses) += finished.tickets.size();
  for (const StoreTicket ticket : finished.tickets) {
    events_.push_back(StoreRead{ticket, finished.found, finished.trials});
  }
}

void Store::Promote(const TrackName& track, const StoredObject& stored, Instant now) {
  const std::optional<TrackFacts> facts = Find(track);
  if (!facts || !ram_.Describe(track, facts->properties, facts->largest).ok()) {
    return;
  }
  Object object = stored.object;
  if (object.payload.size() < kCopyBelowBytes) {
    object.payload = Bytes::Of(object.payload.ToString());
  }
  const Result<bool> put = ram_.Put(track, object, stored.received_us);
  if (put.ok() && *put) {
    ++counts_.promoted;
    const auto below = tiers_.FindGroup(track, object.location.group);
    if (below && below->end) {
      (void)ram_.EndGroup(track, object.location.group, *below->end).ok();
    }
  }
  SettleRam(now);
}

std::vector<Store::Located> Store::Locate(const TrackName& track, Location first,
                                          uint64_t last_object, size_t count_max) {
  std::vector<Object> in_ram = ram_.GetRange(track, {first, {first.group, last_object}}, count_max);
  std::vector<Located> located;
  if (tiers_.empty()) {
    for (Object& object : in_ram) {
      const Location at = object.location;
      located.push_back({at, std::move(object)});
    }
    return located;
  }
  size_t next_ram = 0;
  for (Location at = first; located.size() < count_max;) {
    auto next = tiers_.ObjectFrom(track, at);
    const auto moving = demotions_.ObjectFrom(track, at);
    next = moving && (!next || *moving < *next) ? moving : next;
    if (next_ram < in_ram.size() && (!next || in_ram[next_ram].location.object <= *next)) {
      at = in_ram[next_ram].location;
      located.push_back({at, std::move(in_ram[next_ram++])});
    } else if (next && *next <= last_object) {
      at.object = *next;
      const Object* object = demotions_.Find(track, at);
      located.push_back({at, object != nullptr ? std::optional(*object) : std::nullopt});
    } else {
      break;
    }
    if (at.object == LocationRange::kWholeGroup) {
      break;
    }
    ++at.object;
  }
  return located;
}

std::optional<TrackFacts> Store::Find(const TrackName& track) const {
  std::optional<TrackFacts> facts;
  if (const TrackFacts* here = ram_.Find(track)) {
    facts = *here;
  }
  tiers_.AddFacts(track, facts);
  return facts;
}

std::optional<GroupFacts> Store::FindGroup(const TrackName& track, uint64_t group) const {
  std::optional<GroupFacts> best;
  for (const auto& found : {ram_.FindGroup(track, group), demotions_.FindGroup(track, group),
                            tiers_.FindGroup(track, group)}) {
    if (!found) {
      continue;
    }
    if (found->whole()) {
      return found;
    }
    const auto end = best && best->end ? best->end : found->end;
    if (!best || found->object_count > best->object_count) {
      best = found;
    }
    best->end = end;
  }
  return best;
}

Presence Store::PresenceOf(const TrackName& track, Location location) {
  if (ram_.Look(track, location) != nullptr || demotions_.Find(track, location) != nullptr) {
    return Presence::kExists;
  }
  const Presence below = tiers_.PresenceOf(track, location);
  const TrackFacts* facts = ram_.Find(track);
  if (below != Presence::kUnknown || facts == nullptr) {
    return below;
  }
  const auto group = ram_.FindGroup(track, location.group);
  const bool gone = facts->IsGone(location) ||
                    (group && group->end && location.object >= *group->end) ||
                    AbsentUpTo(track, location);
  return gone ? Presence::kGone : Presence::kUnknown;
}

std::optional<uint64_t> Store::AbsentUpTo(const TrackName& track, Location location) const {
  return std::max({ram_.AbsentUpTo(track, location), demotions_.AbsentUpTo(track, location),
                   tiers_.AbsentUpTo(track, location)});
}

bool Store::IsGone(const TrackName& track, const LocationRange& range) const {
  const std::optional<TrackFacts> facts = Find(track);
  Location at = range.first;
  for (size_t looks = 0; facts && looks < kLookAtMost; ++looks) {
    if (at > range.last || (facts->end && at >= *facts->end)) {
      return true;
    }
    Location last = at;
    if (const LocationRange* const gap = facts->GapAt(at)) {
      last = gap->last;
    } else if (const std::optional<uint64_t> absent = AbsentUpTo(track, at)) {
      last.object = *absent;
    } else {
      const std::optional<GroupFacts> group = FindGroup(track, at.group);
      if (!group || !group->end || at.object < *group->end) {
        return false;
      }
      last.object = LocationRange::kWholeGroup;
    }
    if (last >= range.last) {
      return true;
    }
    at = last.object == LocationRange::kWholeGroup ? Location{last.group + 1, 0}
                                                   : Location{last.group, last.object + 1};
  }
  return false;
}

std::optional<uint64_t> Store::GroupFrom(const TrackName& track, uint64_t group) const {
  std::optional<uint64_t> nearest = ram_.GroupFrom(track, group);
  for (const auto found : {demotions_.GroupFrom(track, group), tiers_.GroupFrom(track, group)}) {
    nearest = found && (!nearest || *found < *nearest) ? found : nearest;
  }
  return nearest;
}

std::optional<uint64_t> Store::GroupUpTo(const TrackName& track, uint64_t group) const {
  std::optional<uint64_t> nearest = ram_.GroupUpTo(track, group);
  for (const auto found : {demotions_.GroupUpTo(track, group), tiers_.GroupUpTo(track, group)}) {
    nearest = found && (!nearest || *found > *nearest) ? found : nearest;
  }
  return nearest;
}

}  // namespace kvcast
