#pragma once

#include <set>
#include <tuple>

#include "kvcast/store/eviction.h"
#include "kvcast/store/handle_map.h"

namespace kvcast {

// The group that was used least often goes first, and of those the one that was used longest ago.
// Nothing is remembered of what has gone, and nothing ever ages.
class Lfu final : public Eviction {
 public:
  Lfu() : order_(std::less<Key>(), CountedAllocator<Key>(&bytes_)), keys_(&bytes_) {}

  void Insert(const StoredGroup& group) override;
  void Hit(uint64_t handle) override;
  void Resize(uint64_t, uint64_t) override {}
  void Pin(uint64_t handle) override;
  void Unpin(uint64_t handle) override;
  void Evict(uint64_t handle) override { Forget(handle); }
  void Forget(uint64_t handle) override;
  std::optional<uint64_t> Victim() override;
  size_t bytes() const override { return sizeof(*this) + bytes_; }
  size_t ghost_count() const override { return 0; }

 private:
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;  // Uses, time of the last, handle.
  struct Rank {
    Key key;
    bool pinned = false;
  };

  size_t bytes_ = 0;
  uint64_t now_ = 0;                                            // Counts uses.
  std::set<Key, std::less<Key>, CountedAllocator<Key>> order_;  // Without what is pinned.
  HandleMap<Rank> keys_;
};

}  // namespace kvcast
