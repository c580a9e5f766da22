#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

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
class PackRemovals {
 public:
  // `group` absent: the whole track.
  void Add(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
           uint64_t offset, const std::shared_ptr<const PackHorizon>& seen);
  // Whether what stands at that place has been removed. `group` absent: what is known of the track.
  bool Covers(const TrackName& track, std::optional<uint64_t> group, const PackId& pack,
              uint64_t offset) const;
  // The pack is no more, and nothing that its removals reach.
  void Drop(const PackId& pack);

  size_t size() const { return count_; }

 private:
  struct One {
    std::optional<uint64_t> group;
    PackId pack;
    uint64_t offset = 0;
    std::shared_ptr<const PackHorizon> seen;
  };
  std::map<TrackName, std::vector<One>> removals_;
  size_t count_ = 0;
};

}  // namespace kvcast
