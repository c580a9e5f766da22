#include "kvcast/store/lfu.h"

#include "kvcast/base/check.h"

namespace kvcast {

void Lfu::Insert(const StoredGroup& group) {
  KVCAST_CHECK(keys_.Find(group.handle) == nullptr);
  const Rank& rank = keys_.Add(group.handle, {Key(1, ++now_, group.handle)});
  order_.insert(rank.key);
}

void Lfu::Hit(uint64_t handle) {
  Rank* const rank = keys_.Find(handle);
  KVCAST_CHECK(rank != nullptr);
  const Key key(std::get<0>(rank->key) + 1, ++now_, handle);
  if (!rank->pinned) {
    auto node = order_.extract(rank->key);
    node.value() = key;
    order_.insert(std::move(node));
  }
  rank->key = key;
}

void Lfu::Pin(uint64_t handle) {
  Rank* const rank = keys_.Find(handle);
  KVCAST_CHECK(rank != nullptr && !rank->pinned);
  rank->pinned = true;
  order_.erase(rank->key);
}

void Lfu::Unpin(uint64_t handle) {
  Rank* const rank = keys_.Find(handle);
  KVCAST_CHECK(rank != nullptr && rank->pinned);
  rank->pinned = false;
  order_.insert(rank->key);
}

void Lfu::Forget(uint64_t handle) {
  Rank* const rank = keys_.Find(handle);
  KVCAST_CHECK(rank != nullptr);
  order_.erase(rank->key);
  keys_.Remove(handle);
}

std::optional<uint64_t> Lfu::Victim() {
  return order_.empty() ? std::nullopt : std::optional(std::get<2>(*order_.begin()));
}

}  // namespace kvcast
