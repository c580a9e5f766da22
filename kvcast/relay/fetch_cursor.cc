#include "kvcast/relay/fetch_cursor.h"

#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/base/planted.h"
#include "kvcast/relay/fetch_progress.h"

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

// What is asked for goes as far as nothing is here, so that it is asked for once.
bool FetchCursor::Pass(const LocationRange& skipped, const Store& store) {
  const bool nothing =
      nothing_ && nothing_->Contains(skipped.first) && nothing_->Contains(skipped.last);
  if (skipped.empty() || nothing || (unknown_ && !fills_) || store.IsGone(track_, skipped)) {
    return true;
  }
  std::optional<LocationRange> hole = fills_ ? Unsettled(skipped) : std::nullopt;
  if (!hole) {
    unknown_ = true;
    return true;
  }
  if (ascending() && hole->last.object == LocationRange::kWholeGroup && hole->last < range_.last) {
    const std::optional<uint64_t> here = store.GroupFrom(track_, hole->last.group + 1);
    hole->last = here && *here <= range_.last.group
                     ? Location{*here - 1, LocationRange::kWholeGroup}
                     : range_.last;
  }
  hole_ = hole;
  return false;
}

std::optional<LocationRange> FetchCursor::Unsettled(const LocationRange& range) const {
  if (!settled_ || range.empty()) {
    return range;
  }
  if (ascending() && *settled_ >= range.last) {
    return std::nullopt;
  }
  const Location next = settled_->object == LocationRange::kWholeGroup
                            ? Location{settled_->group + (ascending() ? 1 : 0), 0}
                            : Location{settled_->group, settled_->object + 1};
  if (ascending()) {
    return LocationRange{std::max(range.first, next), range.last};
  }
  const uint64_t group = settled_->group;
  if (group > range.last.group) {
    return range;
  }
  if (group < range.first.group) {
    return std::nullopt;
  }
  const uint64_t last = group == range.last.group ? range.last.object : LastOf(group);
  if (settled_->object < last) {
    return LocationRange{std::max(range.first, next), {group, last}};
  }
  return group == range.first.group
             ? std::nullopt
             : std::optional(LocationRange{range.first, {group - 1, LocationRange::kWholeGroup}});
}

FetchCursor::Step FetchCursor::EnterGroup(const Store& store) {
  const uint64_t wanted = *next_group_;
  const std::optional<uint64_t> here =
      ascending() ? store.GroupFrom(track_, wanted) : store.GroupUpTo(track_, wanted);
  const bool within = here && range_.first.group <= *here && *here <= range_.last.group;
  if ((!within || *here != wanted) && !Pass(Skipped(wanted, within ? here : std::nullopt), store)) {
    return Step::kHole;
  }
  if (within) {
    GoTo(*here);
  } else {
    next_group_ = std::nullopt;
  }
  return within ? Step::kEntered : Step::kEnd;
}

// Whether anything of the group may exist that was not passed.
bool FetchCursor::LeaveGroup(const Store& store) {
  if (!Pass({{*group_, next_object_}, {*group_, LastOf(*group_)}}, store)) {
    return false;
  }
  group_ = std::nullopt;
  return true;
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

void FetchCursor::LookFrom(Location next) {
  if (group_ != next.group) {
    GoTo(next.group);
  }
  next_object_ = next.object;
}

// False: others are to be asked for what lies before it.
bool FetchCursor::Append(Store::Located located, Store& store, Instant now) {
  const Location at = located.location;
  if (at.object > next_object_ &&
      !Pass({{at.group, next_object_}, {at.group, at.object - 1}}, store)) {
    return false;
  }
  Ahead& entry = ahead_.emplace_back();
  entry.at = at;
  entry.unknown_before = std::exchange(unknown_, false);
  if (located.object) {
    entry.object = std::move(located.object);
  } else {
    below_ = true;
    Look(entry, store, now);
  }
  if (at.object == LastOf(at.group)) {
    group_ = std::nullopt;  // Nothing of the group was left out.
  } else {
    next_object_ = at.object + 1;
  }
  return true;
}

void FetchCursor::LookAhead(Store& store, Instant now) {
  while (!hole_ && (ahead_.empty() || (below_ && ahead_.size() < window_))) {
    if (!group_ && (!next_group_ || EnterGroup(store) != Step::kEntered)) {
      return;
    }
    const uint64_t group = *group_;
    std::vector<Store::Located> found =
        store.Locate(track_, {group, next_object_}, LastOf(group), kLoadObjects);
    below_ = below_ && found.empty();
    for (Store::Located& located : found) {
      if (!Append(std::move(located), store, now)) {
        return;
      }
    }
    if (found.empty() && !LeaveGroup(store)) {
      return;
    }
  }
}

Location FetchCursor::at() const {
  if (!ahead_.empty()) {
    return ahead_.front().at;
  }
  if (group_) {
    return {*group_, next_object_};
  }
  const uint64_t last = ascending() ? range_.last.group : range_.first.group;
  return next_group_ ? Location{*next_group_, FirstOf(*next_group_)} : Location{last, LastOf(last)};
}

bool FetchCursor::IsClear(Location to, const Store& store) const {
  const auto gone = [&](Location first, Location last) {
    return store.IsGone(track_, {first, last});
  };
  uint64_t first = FirstOf(to.group);
  if (group_ == to.group) {
    first = next_object_;
  } else {
    if (group_ && !gone({*group_, next_object_}, {*group_, LastOf(*group_)})) {
      return false;
    }
    if (next_group_ && next_group_ != to.group &&
        !store.IsGone(track_, Skipped(*next_group_, to.group))) {
      return false;
    }
  }
  return to.object <= first || gone({to.group, first}, {to.group, to.object - 1});
}

bool FetchCursor::Fill(const Object& object, const Store& store) {
  const Location at = object.location;
  if (paused_ || !hole_ || !hole_->Contains(at)) {
    return false;
  }
  const Location begin = BeginOf(*hole_, order_);
  hole_.reset();
  if (!ahead_.empty() && ahead_.front().lacking) {
    ahead_.front().lacking = false;
    ahead_.front().was_read = true;
    ahead_.front().object = object;
    return true;
  }
  Ahead entry;
  entry.at = at;
  entry.unknown_before = std::exchange(unknown_, false) || !IsClear(begin, store);
  entry.object = object;
  entry.was_read = true;
  ahead_.push_back(std::move(entry));
  LookFrom(at);
  if (at.object == LastOf(at.group)) {
    group_ = std::nullopt;
  } else {
    next_object_ = at.object + 1;
  }
  return true;
}

void FetchCursor::Settle(Location through, bool nothing, Store& store, Instant now) {
  if (!hole_) {
    return;
  }
  const Location begin = BeginOf(*hole_, order_);
  hole_.reset();
  if (!ahead_.empty() && ahead_.front().lacking) {
    ahead_.front().lacking = false;
    Look(ahead_.front(), store, now);
    missed_ = missed_ || !(ahead_.front().object || ahead_.front().ticket);
    return;
  }
  settled_ = through;
  nothing_.reset();
  if (nothing && (ascending() || begin.group == through.group)) {
    nothing_ = LocationRange{begin, through};
  }
}

void FetchCursor::GiveUp() {
  fills_ = false;
  hole_.reset();
  for (Ahead& entry : ahead_) {
    entry.lacking = false;
  }
}

bool FetchCursor::OnRead(StoreTicket ticket, std::optional<Object> found,
                         std::vector<TierTrial> trials) {
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
  } else if (!failed_) {
    failed_ = Failed{entry->at, std::move(trials)};
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
  // Others can be asked again for what is all in memory, should it have gone by then.
  if (fills_ && !ahead_.empty() && std::ranges::all_of(ahead_, [](const Ahead& entry) {
        return entry.object && !entry.was_read;
      })) {
    LookFrom(ahead_.front().at);
    unknown_ = ahead_.front().unknown_before;
    ahead_.clear();
  }
  for (Ahead& entry : ahead_) {
    if (entry.object && !entry.was_read) {
      entry.object.reset();
      entry.look_again = true;
    }
  }
}

void FetchCursor::Resume(Store& store, Instant now) {
  hole_.reset();  // What was asked for may have come.
  for (Ahead& entry : ahead_) {
    if (std::exchange(entry.look_again, false) || std::exchange(entry.lacking, false)) {
      Look(entry, store, now);
    } else if (entry.object && store.PresenceOf(track_, entry.at) != Presence::kExists) {
      entry.object.reset();
    }
  }
}

std::optional<moqt::FetchItem> FetchCursor::TakeFront(Store& store) {
  Ahead& front = ahead_.front();
  if (front.unknown_before || missed_) {
    front.unknown_before = false;
    missed_ = false;
    return moqt::RangeEnd{Before(front.at), !Planted(PlantedBug::kUnknownIsAbsent)};
  }
  Object object = *std::move(front.object);
  if (!front.was_read) {
    store.CountGiven();
  }
  ahead_.pop_front();
  return object;
}

std::optional<moqt::FetchItem> FetchCursor::Finish() {
  if (std::exchange(done_, true) || !(unknown_ || missed_)) {
    return std::nullopt;
  }
  const uint64_t group = ascending() ? range_.last.group : range_.first.group;
  return moqt::RangeEnd{{group, LastOf(group)}, !Planted(PlantedBug::kUnknownIsAbsent)};
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
    if (ahead_.empty() && !hole_) {
      return Finish();
    }
    if (waiting()) {
      waits_since_ = now;
      return std::nullopt;
    }
    if (ahead_.front().object) {
      return TakeFront(store);
    }
    if (fills_ && !missed_) {
      ahead_.front().lacking = true;
      hole_ = LocationRange{ahead_.front().at, ahead_.front().at};
      continue;
    }
    missed_ = true;
    ahead_.pop_front();
  }
}

}  // namespace kvcast::relay
