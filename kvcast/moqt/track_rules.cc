#include "kvcast/moqt/track_rules.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace kvcast::moqt {
namespace {

Fault Malformed(std::string reason) {
  return Fault::Track(ResetCode::kMalformedTrack, std::move(reason));
}

// What a run or a subgroup takes: a node of a tree, about.
constexpr size_t kEntryBytes = 80;

}  // namespace

size_t TrackRules::bytes() const {
  return group_bytes_ + kEntryBytes * (groups_seen_.run_count() + groups_missing_.run_count());
}

bool TrackRules::ForgetSome() {
  if (!groups_.empty()) {
    Forget(groups_.begin());
    return true;
  }
  const bool some = bytes() > 0;
  groups_seen_ = groups_missing_ = IdRuns(kRunsMax);
  return some;
}

void TrackRules::Forget(std::map<uint64_t, Group>::iterator group) {
  group_bytes_ -= group->second.bytes;
  groups_.erase(group);
}

void TrackRules::Count(Group& group) {
  const size_t entries = group.seen.run_count() + group.ways.run_count() +
                         group.missing.run_count() + group.subgroups.size();
  const size_t bytes = sizeof(Group) + kEntryBytes * (entries + 1);
  group_bytes_ += bytes - std::exchange(group.bytes, bytes);
}

TrackRules::Group& TrackRules::GroupAt(uint64_t group) {
  const auto [found, is_new] = groups_.try_emplace(group);
  if (is_new && groups_.size() > kGroupsMax) {
    const auto lowest = groups_.begin() == found ? std::next(found) : groups_.begin();
    Forget(lowest);
  }
  return found->second;
}

Decoded<void> TrackRules::EndGroup(uint64_t id, Group& group, uint64_t end) {
  if (group.end && *group.end != end) {
    return Malformed("A group has two ends.");
  }
  if (!group.seen.empty() && group.seen.largest() >= end) {
    return Malformed("A group ends before an object of it.");
  }
  if (end_ && end_->group == id && end_->object > end) {
    return Malformed("A track ends beyond its last group's end.");
  }
  group.end = end;
  return {};
}

Decoded<void> TrackRules::EndTrack(Location end) {
  if (end_ && *end_ != end) {
    return Malformed("A track has two ends.");
  }
  if ((largest_ && *largest_ >= end) || (largest_group_end_ && *largest_group_end_ > end)) {
    return Malformed("A track ends before an object of it.");
  }
  end_ = end;
  return {};
}

Decoded<void> TrackRules::CheckGaps(Location at, const PriorGaps& gaps, Group& group) {
  if (gaps.groups) {
    if (group.gap_before && group.gap_before != gaps.groups) {
      return Malformed("A group has two gaps before it.");
    }
    group.gap_before = gaps.groups;
    if (*gaps.groups > 0) {
      if (groups_seen_.Overlaps(at.group - *gaps.groups, at.group - 1)) {
        return Malformed("A gap covers a group that has come.");
      }
      groups_missing_.Add(at.group - *gaps.groups, at.group - 1);
    }
  }
  if (gaps.objects.value_or(0) > 0) {
    if (group.seen.Overlaps(at.object - *gaps.objects, at.object - 1)) {
      return Malformed("A gap covers an object that has come.");
    }
    group.missing.Add(at.object - *gaps.objects, at.object - 1);
  }
  return {};
}

Decoded<void> TrackRules::OnObject(const Object& object, const PriorGaps& gaps, bool ends_group) {
  Group& group = GroupAt(object.location.group);
  Decoded<void> done = Check(object, gaps, ends_group, group);
  Count(group);
  return done;
}

// An end may stand where the end is, and no other object.
Decoded<void> TrackRules::CheckPlace(const Object& object, const Group& group) const {
  const Location at = object.location;
  if (groups_missing_.Contains(at.group) || group.missing.Contains(at.object)) {
    return Malformed("Object " + at.ToString() + " stands in a gap.");
  }
  const bool normal = object.status == ObjectStatus::kNormal;
  const bool beyond_group =
      group.end && (normal ? at.object >= *group.end : at.object > *group.end);
  const bool beyond_track = end_ && (normal ? at >= *end_ : at > *end_);
  if (beyond_group || beyond_track) {
    return Malformed("Object " + at.ToString() + " stands beyond its group's or track's end.");
  }
  return {};
}

Decoded<void> TrackRules::CheckSubgroup(const Object& object, Group& group) {
  if (object.forwarding != Forwarding::kSubgroup ||
      (!group.subgroups.contains(object.subgroup) && group.subgroups.size() >= kSubgroupsMax)) {
    return {};
  }
  const Location at = object.location;
  Subgroup& subgroup = group.subgroups[object.subgroup];
  if (subgroup.last && at.object > *subgroup.last) {
    return Malformed("Object " + at.ToString() + " stands beyond its subgroup's end.");
  }
  if (subgroup.priority.value_or(object.priority) != object.priority) {
    return Malformed("A subgroup has two priorities.");
  }
  subgroup.priority = object.priority;
  return {};
}

Decoded<void> TrackRules::Check(const Object& object, const PriorGaps& gaps, bool ends_group,
                                Group& group) {
  const Location at = object.location;
  KVCAST_TRY_VOID(CheckPlace(object, group));
  KVCAST_TRY_VOID(CheckSubgroup(object, group));
  groups_seen_.Add(at.group, at.group);
  if (object.status == ObjectStatus::kEndOfTrack) {
    return EndTrack(at);
  }
  if (object.status == ObjectStatus::kEndOfGroup) {
    largest_group_end_ = std::max(largest_group_end_.value_or(at), at);
    return EndGroup(at.group, group, at.object);
  }
  if (!group.ways.Add(object)) {
    return Malformed("Object " + at.ToString() + " comes again another way.");
  }
  KVCAST_TRY_VOID(CheckGaps(at, gaps, group));
  group.seen.Add(at.object, at.object);
  if (!largest_ || *largest_ < at) {
    largest_ = at;
  }
  if (ends_group && at.object < std::numeric_limits<uint64_t>::max()) {
    return EndGroup(at.group, group, at.object + 1);
  }
  return {};
}

Decoded<void> TrackRules::OnSubgroupEnd(uint64_t group_id, uint64_t subgroup_id, uint64_t last,
                                        bool ends_group) {
  Group& group = GroupAt(group_id);
  if (group.subgroups.contains(subgroup_id) || group.subgroups.size() < kSubgroupsMax) {
    Subgroup& subgroup = group.subgroups[subgroup_id];
    Count(group);
    if (subgroup.last.value_or(last) != last) {
      return Malformed("A subgroup has two ends.");
    }
    subgroup.last = last;
  }
  if (ends_group && !group.end && last < std::numeric_limits<uint64_t>::max()) {
    return EndGroup(group_id, group, last + 1);
  }
  return {};
}

}  // namespace kvcast::moqt
