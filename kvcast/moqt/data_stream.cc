#include "kvcast/moqt/data_stream.h"

namespace kvcast::moqt {

bool FetchPrior::IsBefore(Location next, GroupOrder order) const {
  if (!location || location->group == next.group) {
    return !location || location->object < next.object;
  }
  return (location->group < next.group) == (order == GroupOrder::kAscending);
}

void FetchPrior::Pass(const Object& object) {
  location = object.location;
  priority = object.priority;
  if (object.forwarding == Forwarding::kSubgroup) {
    subgroup = object.subgroup;
  }
}

}  // namespace kvcast::moqt
