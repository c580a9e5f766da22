#include "kvcast/relay/range_watch.h"

#include <algorithm>
#include <iterator>

namespace kvcast::relay {

RangeWatch::RangeWatch(const LocationRange& range, std::optional<Location> largest, Instant now)
    : range_(range), next_(range.first.group) {
  if (largest && largest->group > range_.last.group) {
    quiet_since_ = now;
  }
}

void RangeWatch::OnObject(const Object& object, Instant now) {
  if (!has_end()) {
    return;
  }
  NoteGaps(object);
  // The first beyond the range counts, and those of the range that come after it.
  const bool beyond = object.location.group > range_.last.group;
  if (quiet_since_ ? range_.Contains(object.location) : beyond) {
    quiet_since_ = now;
  }
}

void RangeWatch::OnSubgroupEnd(uint64_t group, Instant now) {
  if (quiet_since_ && group >= range_.first.group && group <= range_.last.group) {
    quiet_since_ = now;
  }
}

// Two objects of a track do not tell of the same gap, since one that exists stands behind each.
void RangeWatch::NoteGaps(const Object& object) {
  if (object.properties.empty() || missing_groups_.size() + missing_objects_.size() >= kGapsMax) {
    return;
  }
  const Location at = object.location;
  const auto groups = object.properties.Find(property::kPriorGroupIdGap);
  if (groups && groups->number > 0 && groups->number <= at.group) {
    missing_groups_.emplace(at.group - groups->number, at.group - 1);
  }
  const auto objects = object.properties.Find(property::kPriorObjectIdGap);
  if (objects && objects->number > 0 && at.group >= next_ && at.group <= range_.last.group) {
    missing_objects_[at.group] += objects->number;
  }
}

bool RangeWatch::IsWhole(uint64_t group, const Look& look) const {
  const std::optional<GroupFacts> facts = look(group);
  if (!facts || !facts->end) {
    return false;
  }
  const auto missing = missing_objects_.find(group);
  return facts->whole() || (missing != missing_objects_.end() && *facts->end >= missing->second &&
                            *facts->end - missing->second == facts->object_count);
}

RangeWatch::Answer RangeWatch::Ask(const Look& look) {
  for (size_t groups = 0; !over_; ++groups) {
    if (groups == kGroupsAtOnce) {
      return Answer::kMore;
    }
    const auto after = missing_groups_.upper_bound(next_);
    const auto gap = after == missing_groups_.begin() ? missing_groups_.end() : std::prev(after);
    uint64_t last = next_;  // That is whole, or does not exist.
    if (gap != missing_groups_.end() && gap->second >= next_) {
      last = gap->second;
    } else if (!IsWhole(next_, look)) {
      return Answer::kUnknown;
    }
    missing_objects_.erase(next_);
    over_ = last >= range_.last.group;
    next_ = over_ ? next_ : last + 1;
  }
  return Answer::kOver;
}

}  // namespace kvcast::relay
