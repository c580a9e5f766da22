#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/pack_format.h"

namespace kvcast {

// Whether a pack with removals reaches another one: an earlier one of the same node, or one that
// its node had read when it closed the pack.
bool Reaches(const PackId& remover, const PackHorizon& seen, const PackId& target);

// The removals of all packs that are known, so that packs can be read in any order, and late: what
// has been removed stays so.
//
// Packs of several nodes have no common order. A removal reaches what its node knew of, and nothing
// else: what another node put meanwhile is not lost by it.
//
// A track may have lost as many groups as there ever were, so what is asked about one group is held
// against its own removals, and those of the whole track, alone.
class PackRemovals {
 public:
  PackRemovals() = default;
  PackRemovals(const PackRemovals&) = delete;
  PackRemovals& operator=(const PackRemovals&) = delete;

  // `group` absent: the whole track.
  void Add(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
           uint64_t offset, const std::shared_ptr<const PackHorizon>& seen);
  // Whether what stands at that place has been removed. `group` absent: what is known of the track.
  bool Covers(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
              uint64_t offset) const;
  // The pack is no more, and nothing that its removals reach.
  void Drop(const PackId& pack);

  size_t size() const { return count_; }
  // How many of them a question is held against, at the most.
  size_t HeldAgainst(const TrackName& track, std::optional<uint64_t> group) const;
  // What they take from the heap, but for what packs had seen, which is the packs' own.
  size_t bytes() const { return bytes_; }

 private:
  template <typename Key, typename Value>
  using Nodes = CountedAllocator<std::pair<const Key, Value>>;
  // By pack. Of several in one pack the last is all of them.
  struct One {
    uint64_t offset = 0;
    std::shared_ptr<const PackHorizon> seen;
  };
  using Ones = std::map<PackId, One, std::less<>, Nodes<PackId, One>>;
  using Groups = std::map<uint64_t, Ones, std::less<>, Nodes<uint64_t, Ones>>;
  struct Track {
    explicit Track(size_t* counter)
        : whole(Nodes<PackId, One>(counter)), groups(Nodes<uint64_t, Ones>(counter)) {}
    Ones whole;
    Groups groups;
  };
  using Tracks = std::map<TrackName, Track, std::less<>, Nodes<TrackName, Track>>;

  static bool AnyCovers(const Ones& ones, const PackId& pack, uint64_t offset);

  size_t bytes_ = 0;
  size_t count_ = 0;
  Tracks tracks_{Nodes<TrackName, Track>(&bytes_)};
};

}  // namespace kvcast
