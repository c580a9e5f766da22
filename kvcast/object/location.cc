#include "kvcast/object/location.h"

#include <algorithm>

namespace kvcast {

std::string Location::ToString() const {
  return "{" + std::to_string(group) + ", " + std::to_string(object) + "}";
}

std::optional<LocationRange> LocationRange::Intersect(const LocationRange& other) const {
  const LocationRange both{std::max(first, other.first), std::min(last, other.last)};
  if (empty() || other.empty() || both.empty()) {
    return std::nullopt;
  }
  return both;
}

}  // namespace kvcast
