#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "kvcast/base/random.h"
#include "kvcast/store/counted_allocator.h"

namespace kvcast {

// What a policy knows of each handle, found in O(1). Values never move while they are in it. The
// table shrinks again with what is in it: an empty map costs nothing.
template <typename Value>
class HandleMap {
 public:
  explicit HandleMap(size_t* bytes) : map_(0, Spread(), std::equal_to<>(), Allocator(bytes)) {}

  Value* Find(uint64_t handle) {
    const auto found = map_.find(handle);
    return found == map_.end() ? nullptr : &found->second;
  }
  // REQUIRES: !Find(handle).
  Value& Add(uint64_t handle, Value value) {
    return map_.emplace(handle, std::move(value)).first->second;
  }
  void Remove(uint64_t handle) {
    map_.erase(handle);
    if (map_.empty()) {
      Map(0, Spread(), std::equal_to<>(), map_.get_allocator()).swap(map_);
    } else if (map_.bucket_count() > 8 * (map_.size() + 1)) {
      map_.rehash(2 * map_.size());
    }
  }
  size_t size() const { return map_.size(); }

 private:
  struct Spread {
    size_t operator()(uint64_t handle) const { return Scatter(handle); }
  };
  using Allocator = CountedAllocator<std::pair<const uint64_t, Value>>;
  using Map = std::unordered_map<uint64_t, Value, Spread, std::equal_to<>, Allocator>;

  Map map_;
};

}  // namespace kvcast
