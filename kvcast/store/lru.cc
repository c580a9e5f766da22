#include "kvcast/store/lru.h"

#include "kvcast/base/check.h"

namespace kvcast {

void Lru::Insert(const StoredGroup& group) {
  KVCAST_CHECK(places_.Find(group.handle) == nullptr);
  places_.Add(group.handle, {order_.insert(order_.end(), group.handle)});
}

void Lru::Hit(uint64_t handle) {
  Place* const place = places_.Find(handle);
  KVCAST_CHECK(place != nullptr);
  if (!place->pinned) {
    order_.splice(order_.end(), order_, place->at);
  }
}

void Lru::Pin(uint64_t handle) {
  Place* const place = places_.Find(handle);
  KVCAST_CHECK(place != nullptr && !place->pinned);
  place->pinned = true;
  pinned_.splice(pinned_.end(), order_, place->at);
}

void Lru::Unpin(uint64_t handle) {
  Place* const place = places_.Find(handle);
  KVCAST_CHECK(place != nullptr && place->pinned);
  place->pinned = false;
  order_.splice(order_.end(), pinned_, place->at);
}

void Lru::Forget(uint64_t handle) {
  Place* const place = places_.Find(handle);
  KVCAST_CHECK(place != nullptr);
  (place->pinned ? pinned_ : order_).erase(place->at);
  places_.Remove(handle);
}

std::optional<uint64_t> Lru::Victim() {
  return order_.empty() ? std::nullopt : std::optional(order_.front());
}

}  // namespace kvcast
