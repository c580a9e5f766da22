#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/store/eviction.h"
#include "kvcast/store/group_handles.h"
#include "kvcast/store/ram_index.h"

namespace kvcast {

struct RamPoolsOptions {
  std::string_view eviction;
  EvictionLimits limits;
  uint64_t secret = 0;
  uint64_t arriving_bytes_max = 0;               // Of groups that are still coming, in each pool.
  std::map<std::string, uint64_t> reservations;  // Bytes by tenant.
};

// The groups of one tenant that has bytes reserved, or of all others.
struct RamPool {
  explicit RamPool(size_t* list_bytes) : arriving(CountedAllocator<RamGroup*>(list_bytes)) {}

  uint64_t reserved = 0;
  uint64_t bytes = 0;  // Of all its groups, whether they could be evicted or not.
  uint64_t arriving_bytes = 0;
  std::list<RamGroup*, CountedAllocator<RamGroup*>> arriving;  // The oldest in front.
  std::unique_ptr<Eviction> eviction;
};

// Who goes from RAM when room is needed: what stands between the tier's groups and the policies.
//
// A group is told to its policy when it has come, since a policy counts bytes and compares
// blocks, and a block that goes while it comes leaves a rest that is of use to nobody. It has come
// when it is whole, or when too much else that is coming came after it: a publisher may never
// end a group.
//
// Each tenant with reserved bytes is a pool with a policy of its own; all others share one. A pool
// is never taken below what it has reserved for the sake of another. What is beyond is open to
// all: room is taken from the pool that has most beyond its reservation, so that those who press
// come to share evenly what nobody has reserved.
class RamPools {
 public:
  // Invalid: no policy of this name.
  static Result<std::unique_ptr<RamPools>> Of(const RamPoolsOptions& options);
  RamPools(const RamPools&) = delete;
  RamPools& operator=(const RamPools&) = delete;

  // A tenant is the second field of the namespace, up to the first slash.
  static std::string_view TenantOf(const TrackName& track);
  RamPool& PoolOf(const TrackName& track) { return PoolOf(TenantOf(track)); }
  RamPool& PoolOf(std::string_view tenant);

  // A new group, unless its track is kept, in which case only its bytes are counted.
  void Add(RamGroup& group);
  // Its bytes have changed, by what came or went. It may now rest, or others may.
  void OnChange(RamGroup& group, size_t bytes_before);
  // Its first object is here, so that its name is known.
  void OnBegun(RamGroup& group);
  // Somebody began to fetch it.
  void Hit(RamGroup& group);
  // REQUIRES: it rests, and is not pinned, or is.
  void Pin(RamGroup& group);
  void Unpin(RamGroup& group);
  // From now on nothing evicts it.
  void Keep(RamGroup& group);
  // It leaves RAM; if it was evicted, that is told.
  void Remove(RamGroup& group, bool evicted);
  std::vector<EvictedGroup> TakeEvicted();

  // Who goes next for something that `newcomer` brings; never `keep`. Null: nobody can.
  RamGroup* Victim(RamPool& newcomer, const RamGroup* keep);

  size_t bytes() const;
  // What the policies may take at once for one more group, as their tables grow.
  size_t headroom() const { return 1024 + (eviction_bytes_ + handles_.bytes()) / 8; }

 private:
  explicit RamPools(const RamPoolsOptions& options)
      : arriving_bytes_max_(options.arriving_bytes_max), handles_(options.secret) {}
  Result<void> AddPool(const RamPoolsOptions& options, const std::string& tenant,
                       uint64_t reserved);
  RamGroup* VictimOf(RamPool& pool, const RamGroup* keep);
  void Rest(RamGroup& group);
  void Leave(RamGroup& group, bool remembered);
  // Calls the group's policy, and counts what that costs.
  template <typename Call>
  void Tell(const RamGroup& group, Call call);

  uint64_t arriving_bytes_max_;
  GroupHandles<RamGroup*> handles_;
  size_t list_bytes_ = 0;
  size_t eviction_bytes_ = 0;
  std::map<std::string, RamPool, std::less<>,
           CountedAllocator<std::pair<const std::string, RamPool>>>
      pools_{CountedAllocator<std::pair<const std::string, RamPool>>(&list_bytes_)};
  RamPool* common_ = nullptr;  // Of everybody without a reservation.
  std::list<EvictedGroup, CountedAllocator<EvictedGroup>> evicted_{
      CountedAllocator<EvictedGroup>(&list_bytes_)};
};

}  // namespace kvcast
