#include "kvcast/relay/gaps.h"

#include "kvcast/object/properties.h"

namespace kvcast::relay {

std::vector<LocationRange> GapsBefore(const Object& object) {
  std::vector<LocationRange> gaps;
  if (object.properties.empty()) {
    return gaps;
  }
  const Location at = object.location;
  const auto groups = object.properties.Find(property::kPriorGroupIdGap);
  if (groups && groups->number > 0 && groups->number <= at.group) {
    gaps.push_back(LocationRange::Groups(at.group - groups->number, at.group - 1));
  }
  const auto objects = object.properties.Find(property::kPriorObjectIdGap);
  if (objects && objects->number > 0 && objects->number <= at.object) {
    gaps.push_back({{at.group, at.object - objects->number}, {at.group, at.object - 1}});
  }
  return gaps;
}

}  // namespace kvcast::relay
