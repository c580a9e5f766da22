#include "kvcast/moqt/wanted_range.h"

namespace kvcast::moqt {
namespace {

constexpr uint64_t kLastId = LocationRange::kWholeGroup;
constexpr LocationRange kEverything{{0, 0}, {kLastId, kLastId}};
constexpr LocationRange kNothing{{0, 1}, {0, 0}};

LocationRange FromGroupAfter(uint64_t group) {
  return group == kLastId ? kNothing : LocationRange{{group + 1, 0}, kEverything.last};
}

}  // namespace

LocationRange WantedBy(const std::optional<SubscriptionFilter>& filter,
                       std::optional<Location> largest) {
  using Type = SubscriptionFilter::Type;
  if (!filter) {
    return kEverything;
  }
  switch (filter->type) {
    case Type::kLargestObject:
      if (!largest) {
        return kEverything;
      }
      return largest->object == kLastId
                 ? FromGroupAfter(largest->group)
                 : LocationRange{{largest->group, largest->object + 1}, kEverything.last};
    case Type::kNextGroupStart:
      return largest ? FromGroupAfter(largest->group) : kEverything;
    case Type::kAbsoluteStart:
      return {filter->start, kEverything.last};
    case Type::kAbsoluteRange:
      return {filter->start, {filter->end_group, kLastId}};
  }
  return kEverything;
}

}  // namespace kvcast::moqt
