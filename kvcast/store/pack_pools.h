#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kvcast/object/track_name.h"
#include "kvcast/store/segment_contents.h"

namespace kvcast {

// Whose records a pack holds, by pools. To be told of each record.
struct PackOwner {
  uint32_t pool = 0;
  bool mixed = false;               // Of several pools: then it counts to the common one.
  std::vector<uint32_t> removes{};  // Pools of which it removes something, by rising number.
  bool any = false;

  void Add(uint32_t its_pool, bool is_removal);
  // Whether removals of this one can be about anything that stands in the other.
  bool RemovesFrom(const PackOwner& other) const;
};

// Tenants that have bytes of a bucket reserved, each a pool, and one pool of all others. A pool has
// packs of its own, since a pack goes as a whole: so nobody's goes for another's sake, and nothing
// has to be read and written once more for that.
class PackPools {
 public:
  static constexpr uint32_t kCommon = 0;

  explicit PackPools(const std::map<std::string, uint64_t>& reservations);

  uint32_t Of(const TrackName& track) const;
  uint64_t reserved(uint32_t pool) const { return reserved_.at(pool); }
  size_t size() const { return reserved_.size(); }
  PackOwner OwnerOf(const SegmentContents& contents) const;

 private:
  std::map<std::string, uint32_t, std::less<>> by_tenant_;
  std::vector<uint64_t> reserved_;
};

}  // namespace kvcast
