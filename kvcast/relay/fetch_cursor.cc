#include "kvcast/relay/fetch_cursor.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "kvcast/base/check.h"

namespace kvcast::relay {
namespace {

// Objects are references to their payloads; this many are looked up at a time.
constexpr size_t kLoadObjects = 16;

}  // namespace

FetchCursor::FetchCursor(TrackName track, const LocationRange& range, moqt::GroupOrder order)
    : track_(std::move(track)), range_(range), order_(order) {
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

bool FetchCursor::EnterGroup(const RamTier& tier) {
  const uint64_t wanted = *next_group_;
  const std::optional<uint64_t> here =
      ascending() ? tier.GroupFrom(track_, wanted) : tier.GroupUpTo(track_, wanted);
  const bool within = here && range_.first.group <= *here && *here <= range_.last.group;
  unknown_ = unknown_ || !within || *here != wanted;
  if (within) {
    GoTo(*here);
  } else {
    next_group_ = std::nullopt;
  }
  return within;
}

// Whether anything of the group may exist that was not passed.
void FetchCursor::LeaveGroup(const RamTier& tier) {
  const std::optional<GroupFacts> facts = tier.FindGroup(track_, *group_);
  const bool ended = facts && facts->end && next_object_ >= *facts->end;
  unknown_ = unknown_ || !ended;
  group_ = std::nullopt;
}

bool FetchCursor::Load(RamTier& tier) {
  std::vector<Object> found =
      tier.GetRange(track_, {{*group_, next_object_}, {*group_, LastOf(*group_)}}, kLoadObjects);
  loaded_.assign(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  return !loaded_.empty();
}

std::optional<moqt::FetchItem> FetchCursor::TakeLoaded() {
  const Location at = loaded_.front().location;
  if (unknown_ || at.object > next_object_) {
    unknown_ = false;
    next_object_ = at.object;
    return moqt::RangeEnd{Before(at), true};
  }
  Object object = std::move(loaded_.front());
  loaded_.pop_front();
  if (at.object == LastOf(at.group)) {
    group_ = std::nullopt;  // Nothing of the group was left out.
  } else {
    next_object_ = at.object + 1;
  }
  return object;
}

std::optional<moqt::FetchItem> FetchCursor::Finish() {
  if (std::exchange(done_, true) || !unknown_) {
    return std::nullopt;
  }
  const uint64_t group = ascending() ? range_.last.group : range_.first.group;
  return moqt::RangeEnd{{group, LastOf(group)}, true};
}

std::optional<moqt::FetchItem> FetchCursor::Next(RamTier& tier) {
  while (loaded_.empty()) {
    if (group_) {
      if (!Load(tier)) {
        LeaveGroup(tier);
      }
    } else if (!next_group_ || !EnterGroup(tier)) {
      return Finish();
    }
  }
  return TakeLoaded();
}

}  // namespace kvcast::relay
