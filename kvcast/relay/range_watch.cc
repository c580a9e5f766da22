#include "kvcast/relay/range_watch.h"

namespace kvcast::relay {

RangeWatch::RangeWatch(const LocationRange& range, const TrackFacts& track)
    : range_(range), next_(range.first.group), searched_(range.first.group) {
  if (!has_end()) {
    return;
  }
  OnGaps(track.gaps);
  if (track.end) {
    NoteGap({*track.end, {LocationRange::kWholeGroup, LocationRange::kWholeGroup}});
  }
  passed_ = track.largest && track.largest->group > range_.last.group;
}

void RangeWatch::OnGaps(std::span<const LocationRange> gaps) {
  if (!has_end()) {
    return;
  }
  for (const LocationRange& gap : gaps) {
    NoteGap(gap);
  }
}

void RangeWatch::Begin(Instant now) {
  if (!begun_ && passed_) {
    quiet_since_ = now;
  }
  begun_ = true;
}

void RangeWatch::OnObject(Location at, std::span<const LocationRange> gaps, Instant now) {
  if (!has_end()) {
    return;
  }
  OnGaps(gaps);
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

// A gap may be told again, by the same object or another one, and counts once. A set of runs that
// is full forgets the lowest, which is what is needed next: so nothing is added then.
void RangeWatch::NoteGap(const LocationRange& gap) {
  if (gap.last.group < next_ || gap.first.group > range_.last.group ||
      missing_groups_.run_count() + object_runs_ >= kGapsMax) {
    return;
  }
  if (gap.last.object != LocationRange::kWholeGroup) {
    moqt::IdRuns& objects = missing_objects_.try_emplace(gap.last.group, kGapsMax).first->second;
    object_runs_ -= objects.run_count();
    objects.Add(gap.first.object, gap.last.object);
    object_runs_ += objects.run_count();
    moved_ = true;
  } else if (gap.first.object == 0 || gap.first.group < gap.last.group) {
    // What it leaves of its first group, the store knows to be all.
    missing_groups_.Add(gap.first.group + (gap.first.object == 0 ? 0 : 1), gap.last.group);
    moved_ = true;
  }
}

bool RangeWatch::IsWhole(uint64_t group, const std::optional<GroupFacts>& facts) const {
  if (!facts || !facts->end) {
    return false;
  }
  const auto missing = missing_objects_.find(group);
  const uint64_t gaps =
      missing == missing_objects_.end() ? 0 : missing->second.CountBelow(*facts->end);
  return facts->whole() || *facts->end - gaps == facts->object_count;
}

// What they told is of no more use, and makes room for others.
void RangeWatch::ForgetPassed() {
  missing_groups_.ForgetBelow(next_);
  while (!missing_objects_.empty() && missing_objects_.begin()->first < next_) {
    object_runs_ -= missing_objects_.begin()->second.run_count();
    missing_objects_.erase(missing_objects_.begin());
  }
}

// What comes while it watches, it is told of: so this is looked for once.
bool RangeWatch::LookForBeginning(const Look& look, Instant now) {
  for (size_t groups = 0; !begun_ && searched_ <= range_.last.group; ++groups) {
    if (groups == kGroupsAtOnce) {
      return false;
    }
    const std::optional<uint64_t> nearest = look.from(searched_);
    if (!nearest || *nearest > range_.last.group) {
      searched_ = range_.last.group + 1;
      break;
    }
    const std::optional<GroupFacts> facts = look.group(*nearest);
    if (facts && facts->object_count > 0) {
      Begin(now);
    }
    searched_ = *nearest + 1;
  }
  return true;
}

RangeWatch::Answer RangeWatch::Ask(const Look& look, Instant now) {
  for (size_t groups = 0; !over_; ++groups) {
    if (groups == kGroupsAtOnce) {
      return Answer::kMore;
    }
    const std::optional<uint64_t> gap = missing_groups_.RunEnd(next_);
    if (!gap) {
      const std::optional<GroupFacts> facts = look.group(next_);
      if (facts && facts->object_count > 0) {
        Begin(now);
      }
      if (!IsWhole(next_, facts)) {
        return LookForBeginning(look, now) ? Answer::kUnknown : Answer::kMore;
      }
    }
    const uint64_t last = gap.value_or(next_);  // That is whole, or does not exist.
    over_ = last >= range_.last.group;
    next_ = over_ ? next_ : last + 1;
    ForgetPassed();
  }
  return Answer::kOver;
}

}  // namespace kvcast::relay
