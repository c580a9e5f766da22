#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {

// Objects that a disk failed to give. A path to a disk comes back, a bad sector does not: each is
// looked at again, later each time, and given up after a few looks.
//
// Nobody may count on an object while it is in doubt, so it is written again if it is put.
class DiskDoubts {
 public:
  static constexpr size_t kMax = 4096;

  struct Doubt {
    TrackName track;
    Location location;
    DiskPlace place;
  };

  DiskDoubts() = default;
  DiskDoubts(const DiskDoubts&) = delete;
  DiskDoubts& operator=(const DiskDoubts&) = delete;

  // False: too many are in doubt already, so this one has to be given up now.
  bool Add(const Doubt& doubt, Instant now);
  // What is to be looked at now. It is due again later, whatever comes of that.
  std::optional<Doubt> TakeDue(Instant now);
  // A look at it failed. False: it is given up by that, and forgotten here.
  bool OnLookFailed(DiskPlace place, Instant now);
  void Lift(DiskPlace place);

  bool Has(DiskPlace place) const { return doubts_.contains(place); }
  // Those of a range that are in doubt, first to last, until one of them is `wanted`.
  bool Any(const TrackName& track, const LocationRange& range,
           const std::function<bool(const Doubt&)>& wanted) const;
  std::optional<Instant> deadline() const;
  size_t count() const { return doubts_.size(); }
  // All that this takes from the heap.
  size_t bytes() const { return bytes_; }

 private:
  struct State {
    Doubt doubt;
    uint32_t looks = 0;  // That failed, after the first.
    Instant again{};
  };
  using Name = std::pair<TrackName, Location>;
  using Due = std::pair<Instant, DiskPlace>;
  template <typename Key, typename Value>
  using Counted = std::map<Key, Value, std::less<>, CountedAllocator<std::pair<const Key, Value>>>;

  void Schedule(State& state, Instant again);

  size_t bytes_ = 0;
  Counted<DiskPlace, State> doubts_{Counted<DiskPlace, State>::allocator_type(&bytes_)};
  Counted<Name, DiskPlace> places_{Counted<Name, DiskPlace>::allocator_type(&bytes_)};
  std::set<Due, std::less<>, CountedAllocator<Due>> due_{CountedAllocator<Due>(&bytes_)};
};

}  // namespace kvcast
