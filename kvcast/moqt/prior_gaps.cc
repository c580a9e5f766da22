#include "kvcast/moqt/prior_gaps.h"

#include "kvcast/object/properties.h"

namespace kvcast::moqt {
namespace {

std::optional<uint64_t> GapUpTo(const Properties& properties, uint64_t type, uint64_t most) {
  const auto gap = properties.Find(type);
  return gap && gap->number <= most ? std::optional(gap->number) : std::nullopt;
}

}  // namespace

PriorGaps PriorGaps::Of(const Object& object) {
  if (object.properties.empty()) {
    return {};
  }
  const Location at = object.location;
  return {GapUpTo(object.properties, property::kPriorGroupIdGap, at.group),
          GapUpTo(object.properties, property::kPriorObjectIdGap, at.object)};
}

std::vector<LocationRange> PriorGaps::Before(Location at) const {
  std::vector<LocationRange> gaps;
  if (groups.value_or(0) > 0) {
    gaps.push_back(LocationRange::Groups(at.group - *groups, at.group - 1));
  }
  if (objects.value_or(0) > 0) {
    gaps.push_back({{at.group, at.object - *objects}, {at.group, at.object - 1}});
  }
  return gaps;
}

}  // namespace kvcast::moqt
