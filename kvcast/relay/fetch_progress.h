#pragma once

#include <optional>
#include <vector>

#include "kvcast/moqt/parameters.h"
#include "kvcast/object/location.h"

namespace kvcast::relay {

// How far a range that was asked for upstream has come: groups in its order, objects by rising id.
class FetchProgress {
 public:
  // REQUIRES: the range is not empty.
  FetchProgress(const LocationRange& range, moqt::GroupOrder order)
      : range_(range), order_(order) {}

  const LocationRange& range() const { return range_; }
  moqt::GroupOrder order() const { return order_; }
  // The track goes no further than this, or the range does.
  void Clip(Location last);

  // Whether the location may still come.
  bool IsToCome(Location location) const;
  // All that may still come: two ranges at most, the next one first.
  std::vector<LocationRange> ToCome() const;

  // Something stands there, or a range ends there. Gives what lies between it and what came before:
  // the draft has it not exist, unless the end of a range says that nobody knows. REQUIRES:
  // IsToCome(at).
  std::vector<LocationRange> Pass(Location at);
  // Nothing follows. Gives what did not come.
  std::vector<LocationRange> Finish();

  // Up to where, walked in the order `as`, all of what is wanted has passed, or lies beyond where
  // the track goes. It stops where this range does, which may begin or end within a group of what
  // is wanted. REQUIRES: its beginning was to come, and is not any more.
  Location PassedOf(const LocationRange& wanted, moqt::GroupOrder as) const;

 private:
  bool ascending() const { return order_ == moqt::GroupOrder::kAscending; }
  uint64_t FirstOf(uint64_t group) const {
    return group == range_.first.group ? range_.first.object : 0;
  }
  uint64_t LastOf(uint64_t group) const {
    return group == range_.last.group ? range_.last.object : LocationRange::kWholeGroup;
  }

  // The same as if groups were there as a whole or not at all.
  Location PassedFrom(Location from, moqt::GroupOrder as) const;

  LocationRange range_;
  moqt::GroupOrder order_;
  std::optional<Location> passed_;  // All up to here, in the order.
  bool finished_ = false;
};

// The location after this one, where there is one.
Location After(Location location);
// Whether the one location stands before the other, groups in this order.
bool IsBefore(Location one, Location other, moqt::GroupOrder order);
// Where a range begins and ends, walked in this order.
Location BeginOf(const LocationRange& range, moqt::GroupOrder order);
Location EndOf(const LocationRange& range, moqt::GroupOrder order);

}  // namespace kvcast::relay
