#include "kvcast/relay/fetch_cursor.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast::relay {
namespace {

// Objects are references to their payloads; this many are looked up at a time.
constexpr size_t kLoadObjects = 16;
// What is read ahead, and in how many objects of unknown size that is tried at first.
constexpr size_t kAheadBytes = 16 << 20;
constexpr size_t kAheadAtFirst = 16;
constexpr size_t kAheadMin = 4;
constexpr size_t kAheadMax = 256;

}  // namespace

FetchCursor::FetchCursor(TrackName track, const LocationRange& range, moqt::GroupOrder order,
                         std::optional<Duration> patience)
    : track_(std::move(track)),
      range_(range),
      order_(order),
      window_(kAheadAtFirst),
      patience_(patience) {
  KVCAST_CHECK(!range.empty());
  next_group_ = ascending() ? range_.first.group : range_.last.group;
}

uint64_t FetchCursor::FirstOf(uint64_t group) const {
  return group == range_.first.group ? range_.first.object : 0;
}

uint64_t FetchCursor::LastOf(uint64_t group) const {
  return group == range_.last.group ? range_.last.object : LocationRange::kWholeGroup;
}

// The location that the order has before this one, which is not the first.
Location FetchCursor::Before(Location location) const {
  if (location.object > FirstOf(location.group)) {
    return {location.group, location.object - 1};
  }
  const uint64_t group = ascending() ? location.group - 1 : location.group + 1;
  return {group, LastOf(group)};
}

void FetchCursor::GoTo(uint64_t group) {
  group_ = group;
  next_object_ = FirstOf(group);
  const uint64_t last = ascending() ? range_.last.group : range_.first.group;
  next_group_ = group == last ? std::nullopt : std::optional(ascending() ? group + 1 : group - 1);
}

LocationRange FetchCursor::Skipped(uint64_t wanted, std::optional<uint64_t> here) const {
  if (ascending()) {
    const Location last = here ? Location{*here - 1, LocationRange::kWholeGroup} : range_.last;
    return {{wanted, FirstOf(wanted)}, last};
  }
  return {here ? Location{*here + 1, 0} : range_.first, {wanted, LastOf(wanted)}};
}

bool FetchCursor::EnterGroup(const Store& store) {
  const uint64_t wanted = *next_group_;
  const std::optional<uint64_t> here =
      ascending() ? store.GroupFrom(track_, wanted) : store.GroupUpTo(track_, wanted);
  const bool within = here && range_.first.group <= *here && *here <= range_.last.group;
  if (!unknown_ && (!within || *here != wanted)) {
    unknown_ = !store.IsGone(track_, Skipped(wanted, within ? here : std::nullopt));
  }
  if (within) {
    GoTo(*here);
  } else {
    next_group_ = std::nullopt;
  }
  return within;
}

// Whether anything of the group may exist that was not passed.
void FetchCursor::LeaveGroup(const Store& store) {
  unknown_ =
      unknown_ || !store.IsGone(track_, {{*group_, next_object_}, {*group_, LastOf(*group_)}});
  group_ = std::nullopt;
}

void FetchCursor::Look(Ahead& entry, Store& store, Instant now) {
  Store::Got got = store.Get(track_, entry.at, now, patience_);
  if (auto* object = std::get_if<Object>(&got)) {
    entry.object = std::move(*object);
  } else if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
    entry.ticket = *ticket;
    asked_.push_back(*ticket);
  }
}

void FetchCursor::LookAhead(Store& store, Instant now) {
  while (ahead_.empty() || (below_ && ahead_.size() < window_)) {
    if (!group_ && (!next_group_ || !EnterGroup(store))) {
      return;
    }
    const uint64_t group = *group_;
    std::vector<Store::Located> found =
        store.Locate(track_, {group, next_object_}, LastOf(group), kLoadObjects);
    below_ = below_ && found.empty();
    for (Store::Located& located : found) {
      const Location at = located.location;
      Ahead& entry = ahead_.emplace_back();
      entry.at = at;
      entry.unknown_before =
          std::exchange(unknown_, false) ||
          (at.object > next_object_ &&
           !store.IsGone(track_, {{group, next_object_}, {group, at.object - 1}}));
      if (located.object) {
        entry.object = std::move(located.object);
      } else {
        below_ = true;
        Look(entry, store, now);
      }
      if (at.object == LastOf(group)) {
        group_ = std::nullopt;  // Nothing of the group was left out.
      } else {
        next_object_ = at.object + 1;
      }
    }
    if (found.empty()) {
      LeaveGroup(store);
    }
  }
}

bool FetchCursor::OnRead(StoreTicket ticket, std::optional<Object> found) {
  const auto entry = std::ranges::find(ahead_, std::optional(ticket), &Ahead::ticket);
  if (entry == ahead_.end()) {
    return false;
  }
  entry->ticket.reset();
  entry->object = std::move(found);
  entry->was_read = true;
  if (entry->object) {
    const size_t bytes = std::max<size_t>(entry->object->payload.size(), 1);
    window_ = std::clamp(kAheadBytes / bytes, kAheadMin, kAheadMax);
  }
  return true;
}

std::vector<StoreTicket> FetchCursor::Cancel(Store& store) {
  std::vector<StoreTicket> cancelled;
  for (const Ahead& entry : ahead_) {
    if (entry.ticket) {
      store.Cancel(*entry.ticket);
      cancelled.push_back(*entry.ticket);
    }
  }
  ahead_.clear();
  return cancelled;
}

void FetchCursor::Pause() {
  paused_ = true;
  for (Ahead& entry : ahead_) {
    if (entry.object && !entry.was_read) {
      entry.object.reset();
      entry.look_again = true;
    }
  }
}

void FetchCursor::Resume(Store& store, Instant now) {
  for (Ahead& entry : ahead_) {
    if (std::exchange(entry.look_again, false)) {
      Look(entry, store, now);
    } else if (entry.object && store.PresenceOf(track_, entry.at) != Presence::kExists) {
      entry.object.reset();
    }
  }
}

std::optional<moqt::FetchItem> FetchCursor::TakeFront() {
  Ahead& front = ahead_.front();
  if (front.unknown_before || missed_) {
    front.unknown_before = false;
    missed_ = false;
    return moqt::RangeEnd{Before(front.at), true};
  }
  Object object = *std::move(front.object);
  ahead_.pop_front();
  return object;
}

std::optional<moqt::FetchItem> FetchCursor::Finish() {
  if (std::exchange(done_, true) || !(unknown_ || missed_)) {
    return std::nullopt;
  }
  const uint64_t group = ascending() ? range_.last.group : range_.first.group;
  return moqt::RangeEnd{{group, LastOf(group)}, true};
}

std::optional<moqt::FetchItem> FetchCursor::Next(Store& store, Instant now) {
  if (const auto since = std::exchange(waits_since_, std::nullopt); since && patience_) {
    *patience_ -= std::min(*patience_, now - *since);
  }
  if (std::exchange(paused_, false)) {
    Resume(store, now);
  }
  while (true) {
    LookAhead(store, now);
    if (ahead_.empty()) {
      return Finish();
    }
    if (waiting()) {
      waits_since_ = now;
      return std::nullopt;
    }
    if (ahead_.front().object) {
      return TakeFront();
    }
    missed_ = true;
    ahead_.pop_front();
  }
}

}  // namespace kvcast::relay
