#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace kvcast {

// Where an object stands in its track. Ordered by group, then by object.
struct Location {
  uint64_t group = 0;
  uint64_t object = 0;

  friend auto operator<=>(const Location&, const Location&) = default;
  // "{3, 17}", as the draft writes it.
  std::string ToString() const;
};

// The locations from `first` to `last`, both included; empty if last < first.
//
// MoQT's FETCH writes the end as one past the last object, and 0 for a whole group. That is the
// wire's business: inside, a range says what it means.
struct LocationRange {
  static constexpr uint64_t kWholeGroup = std::numeric_limits<uint64_t>::max();

  Location first;
  Location last;

  // Every object of the groups from `from` to `to`, both included.
  static LocationRange Groups(uint64_t from, uint64_t to) { return {{from, 0}, {to, kWholeGroup}}; }

  bool empty() const { return last < first; }
  bool Contains(Location location) const { return first <= location && location <= last; }
  // What both hold, if anything.
  std::optional<LocationRange> Intersect(const LocationRange& other) const;

  friend bool operator==(const LocationRange&, const LocationRange&) = default;
};

}  // namespace kvcast
