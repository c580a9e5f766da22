#pragma once

#include <list>

#include "kvcast/store/eviction.h"
#include "kvcast/store/handle_map.h"

namespace kvcast {

// The group that was used longest ago goes first. What is unpinned counts as just used.
class Lru final : public Eviction {
 public:
  Lru() : order_(CountedAllocator<uint64_t>(&bytes_)), pinned_(order_), places_(&bytes_) {}

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
  using Order = std::list<uint64_t, CountedAllocator<uint64_t>>;
  struct Place {
    Order::iterator at;
    bool pinned = false;
  };

  size_t bytes_ = 0;
  Order order_;  // The one to evict first in front.
  Order pinned_;
  HandleMap<Place> places_;
};

}  // namespace kvcast
