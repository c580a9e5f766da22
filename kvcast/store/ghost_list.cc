#include "kvcast/store/ghost_list.h"

namespace kvcast {

void GhostList::Add(uint64_t handle, uint64_t group_bytes) {
  Take(handle);
  order_.push_back({handle, group_bytes});
  places_.Add(handle, std::prev(order_.end()));
  group_bytes_ += group_bytes;
  while (!order_.empty() && (group_bytes_ > group_bytes_max_ || order_.size() > count_max_)) {
    Erase(order_.begin());
  }
}

bool GhostList::Take(uint64_t handle) {
  const Order::iterator* const place = places_.Find(handle);
  if (place == nullptr) {
    return false;
  }
  Erase(*place);
  return true;
}

void GhostList::Erase(Order::iterator ghost) {
  group_bytes_ -= ghost->group_bytes;
  places_.Remove(ghost->handle);
  order_.erase(ghost);
}

}  // namespace kvcast
