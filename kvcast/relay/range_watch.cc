#include "kvcast/relay/range_watch.h"

#include <algorithm>
#include <iterator>

namespace kvcast::relay {

RangeWatch::RangeWatch(const LocationRange& range, std::optional<Location> largest, Instant now)
    : range_(range), next_(range.first.group) {
  if (largest && largest->group > range_.last.group) {
    passed_ = true;
    quiet_since_ = now;
  }
}

void RangeWatch::OnObject(Location at, std::span<const LocationRange> gaps, Instant now) {
  if (!has_end()) {
    return;
  }
  for (const LocationRange& gap : gaps) {
    NoteGap(gap);
  }
  const bool of_it = range_.Contains(at);
  const bool first_beyond = !passed_ && at.group > range_.last.group;
  begun_ = begun_ || of_it;
  passed_ = passed_ || first_beyond;
  moved_ = moved_ || of_it || first_beyond;
  // The first beyond the range counts, and those of the range that come after it.
  if (begun_ && passed_ && (of_it || first_beyond)) {
    quiet_since_ = now;
  }
}

void RangeWatch::OnSubgroupEnd(uint64_t group, Instant now) {
  if (!has_end() || group < range_.first.group || group > range_.last.group) {
    return;
  }
  moved_ = true;
  if (quiet_since_) {
    quiet_since_ = now;
  }
}

// Two objects of a track do not tell of the same gap, since one that exists stands behind each.
void RangeWatch::NoteGap(const LocationRange& gap) {
  if (gap.last.group < next_ || gap.first.group > range_.last.group ||
      missing_groups_.size() + missing_objects_.size() >= kGapsMax) {
    return;
  }
  moved_ = true;
  if (gap.last.object == LocationRange::kWholeGroup) {
    missing_groups_.emplace(gap.first.group, gap.last.group);
  } else {
    missing_objects_[gap.last.group] += gap.last.object - gap.first.object + 1;
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
    if (gap != missing_groups_.end()) {
      missing_groups_.erase(missing_groups_.begin(), std::next(gap));  // They have told all.
    }
    over_ = last >= range_.last.group;
    next_ = over_ ? next_ : last + 1;
  }
  return Answer::kOver;
}

}  // namespace kvcast::relay
