#pragma once

#include <cstdint>
#include <iterator>
#include <optional>

namespace kvcast {

// The nearest key of a sorted map: at `number` or above it, or at it or below.
template <typename Map>
std::optional<uint64_t> KeyFrom(const Map& map, uint64_t number) {
  const auto found = map.lower_bound(number);
  return found == map.end() ? std::nullopt : std::optional<uint64_t>(found->first);
}
template <typename Map>
std::optional<uint64_t> KeyUpTo(const Map& map, uint64_t number) {
  const auto above = map.upper_bound(number);
  return above == map.begin() ? std::nullopt : std::optional<uint64_t>(std::prev(above)->first);
}

}  // namespace kvcast
