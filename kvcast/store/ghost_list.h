#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "kvcast/store/handle_map.h"

namespace kvcast {

// The handles of groups that were seen and are not kept, the oldest of which are forgotten first.
class GhostList {
 public:
  // Remembers groups of `group_bytes_max` together, and not more than `count_max`.
  GhostList(uint64_t group_bytes_max, size_t count_max)
      : group_bytes_max_(group_bytes_max),
        count_max_(count_max),
        order_(CountedAllocator<Ghost>(&bytes_)),
        places_(&bytes_) {}
  GhostList(const GhostList&) = delete;
  GhostList& operator=(const GhostList&) = delete;

  // Once more is as if it were the first time.
  void Add(uint64_t handle, uint64_t group_bytes);
  // True if it was remembered, and from then on no longer.
  bool Take(uint64_t handle);

  size_t size() const { return places_.size(); }
  size_t bytes() const { return bytes_; }  // Of memory, beside the object itself.

 private:
  struct Ghost {
    uint64_t handle;
    uint64_t group_bytes;
  };
  using Order = std::list<Ghost, CountedAllocator<Ghost>>;

  void Erase(Order::iterator ghost);

  uint64_t group_bytes_max_;
  size_t count_max_;
  size_t bytes_ = 0;
  uint64_t group_bytes_ = 0;
  Order order_;  // The oldest in front.
  HandleMap<Order::iterator> places_;
};

}  // namespace kvcast
