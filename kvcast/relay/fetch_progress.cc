#include "kvcast/relay/fetch_progress.h"

#include <algorithm>
#include <utility>

namespace kvcast::relay {
namespace {

Location Previous(Location location) {
  return location.object > 0 ? Location{location.group, location.object - 1}
                             : Location{location.group - 1, LocationRange::kWholeGroup};
}

void Append(std::vector<LocationRange>& ranges, Location first, Location last) {
  if (first <= last) {
    ranges.push_back({first, last});
  }
}

}  // namespace

Location After(Location location) {
  return location.object == LocationRange::kWholeGroup
             ? Location{location.group + 1, 0}
             : Location{location.group, location.object + 1};
}

bool IsBefore(Location one, Location other, moqt::GroupOrder order) {
  if (one.group == other.group) {
    return one.object < other.object;
  }
  return (one.group < other.group) == (order == moqt::GroupOrder::kAscending);
}

Location BeginOf(const LocationRange& range, moqt::GroupOrder order) {
  return order == moqt::GroupOrder::kAscending || range.first.group == range.last.group
             ? range.first
             : Location{range.last.group, 0};
}

Location EndOf(const LocationRange& range, moqt::GroupOrder order) {
  return order == moqt::GroupOrder::kAscending || range.first.group == range.last.group
             ? range.last
             : Location{range.first.group, LocationRange::kWholeGroup};
}

void FetchProgress::Clip(Location last) {
  if (last < range_.first) {
    finished_ = true;
  } else {
    range_.last = std::min(range_.last, last);
  }
}

bool FetchProgress::IsToCome(Location location) const {
  if (finished_ || !range_.Contains(location)) {
    return false;
  }
  if (!passed_) {
    return true;
  }
  if (location.group == passed_->group) {
    return location.object > passed_->object;
  }
  return ascending() == (location.group > passed_->group);
}

std::vector<LocationRange> FetchProgress::ToCome() const {
  std::vector<LocationRange> left;
  if (finished_) {
    return left;
  }
  if (!passed_) {
    return {range_};
  }
  if (ascending()) {
    if (*passed_ < range_.last) {
      left.push_back({After(*passed_), range_.last});
    }
    return left;
  }
  const uint64_t group = passed_->group;
  if (passed_->object < LastOf(group)) {
    left.push_back({{group, passed_->object + 1}, {group, LastOf(group)}});
  }
  if (group > range_.first.group) {
    left.push_back({range_.first, {group - 1, LocationRange::kWholeGroup}});
  }
  return left;
}

std::vector<LocationRange> FetchProgress::Pass(Location at) {
  std::vector<LocationRange> between;
  const std::optional<Location> before = std::exchange(passed_, at);
  if (ascending() || (before && before->group == at.group)) {
    const Location first = before ? After(*before) : range_.first;
    if (first < at) {
      Append(between, first, Previous(at));
    }
    return between;
  }
  if (before && before->object < LastOf(before->group)) {
    Append(between, After(*before), {before->group, LastOf(before->group)});
  }
  const uint64_t next = before ? before->group - 1 : range_.last.group;
  if (at.group < next) {
    Append(between, {at.group + 1, 0}, {next, LastOf(next)});
  }
  if (at.object > FirstOf(at.group)) {
    Append(between, {at.group, FirstOf(at.group)}, {at.group, at.object - 1});
  }
  return between;
}

std::vector<LocationRange> FetchProgress::Finish() {
  std::vector<LocationRange> left = ToCome();
  finished_ = true;
  return left;
}

Location FetchProgress::PassedFrom(Location from, moqt::GroupOrder as) const {
  const uint64_t last_group = ascending() ? range_.last.group : range_.first.group;
  if (as == order_) {
    return finished_ || !passed_ ? Location{last_group, LastOf(last_group)} : *passed_;
  }
  const bool within = !finished_ && passed_ && passed_->group == from.group;
  return within ? *passed_ : Location{from.group, LastOf(from.group)};
}

Location FetchProgress::PassedOf(const LocationRange& wanted, moqt::GroupOrder as) const {
  const Location begin = BeginOf(wanted, as);
  const Location end = EndOf(wanted, as);
  Location through = PassedFrom(begin, as);
  if (begin > range_.last) {
    const bool groups_left = as == moqt::GroupOrder::kDescending && begin.group > range_.last.group;
    through = groups_left ? Location{range_.last.group + 1, LocationRange::kWholeGroup} : end;
  } else if (through.group < begin.group) {  // Falling order: two groups may be there in part.
    const uint64_t first = through.group == wanted.first.group ? wanted.first.object : 0;
    if (begin.group == range_.last.group && range_.last.object < wanted.last.object) {
      through = range_.last;
    } else if (FirstOf(through.group) > first) {
      through = {through.group + 1, LocationRange::kWholeGroup};
    }
  }
  return IsBefore(end, through, as) ? end : through;
}

}  // namespace kvcast::relay
