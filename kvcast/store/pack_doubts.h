#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {

// What came damaged, and may be whole where it lies: the way, or a server for a while, is likelier
// to blame than the bucket. Each is looked at again, ever later, so that what comes right is found
// and what never does costs little. After a few looks it is given up, and looked at seldom.
class PackDoubts {
 public:
  static constexpr size_t kRecordsMax = 4096;

  // Of an object.
  struct Record {
    TrackName track;
    Location location;
    uint32_t length = 0;
  };
  struct Doubt {
    DiskPlace place;  // Of a pack, its beginning, where no record stands.
    std::optional<Record> record{};
  };
  static DiskPlace PlaceOf(uint32_t segment) { return {segment, 0}; }

  PackDoubts() = default;
  PackDoubts(const PackDoubts&) = delete;
  PackDoubts& operator=(const PackDoubts&) = delete;

  // Nothing, if it is known, or too many records are.
  void Add(const Doubt& doubt, Instant now);
  // It came damaged once more. False: it is given up by that. Of records that are, only so many
  // are remembered.
  bool OnDamaged(DiskPlace place, Instant now);
  void Lift(DiskPlace place);
  // The pack, with its records.
  void Drop(uint32_t segment);
  // Records of a group, or of the track.
  void Forget(const TrackName& track, std::optional<uint64_t> group);

  // What is to be looked at now. It is due again later, whatever comes of that.
  std::optional<Doubt> TakeDue(Instant now);
  std::optional<Instant> deadline() const;

  bool Has(DiskPlace place) const { return doubts_.contains(place); }
  bool IsGivenUp(DiskPlace place) const;
  // There may be more records in doubt than are remembered.
  bool full() const { return record_count_ >= kRecordsMax; }
  // The next look at it is the last one before it is given up.
  bool OnlyOnceMore(DiskPlace place) const;
  // Those that are given up are among them.
  std::vector<uint32_t> Packs() const;
  // All that this takes from the heap.
  size_t bytes() const { return bytes_; }

 private:
  struct State {
    Doubt doubt;
    uint32_t looks = 0;  // That found it damaged, after the first.
    Instant again{};

    bool given_up() const { return looks >= LooksFor(doubt); }
  };
  template <typename Key, typename Value>
  using Nodes = CountedAllocator<std::pair<const Key, Value>>;
  using Doubts = std::map<DiskPlace, State, std::less<>, Nodes<DiskPlace, State>>;
  using Due = std::pair<Instant, DiskPlace>;

  static uint32_t LooksFor(const Doubt& doubt);
  // How many records are counted with it.
  size_t& CountFor(const State& state) {
    return state.given_up() ? given_up_count_ : record_count_;
  }
  void Schedule(State& state, Instant again);
  Doubts::iterator Erase(Doubts::iterator doubt);

  size_t bytes_ = 0;
  size_t record_count_ = 0;    // That are not given up,
  size_t given_up_count_ = 0;  // and that are.
  Doubts doubts_{Nodes<DiskPlace, State>(&bytes_)};
  std::set<Due, std::less<>, CountedAllocator<Due>> due_{CountedAllocator<Due>(&bytes_)};
};

}  // namespace kvcast
