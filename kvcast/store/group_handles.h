#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "kvcast/store/handle_key.h"
#include "kvcast/store/handle_map.h"

namespace kvcast {

// Which group of a tier has which handle, no two the same. `Holder` is how the tier finds it again.
//
// Copies of a block may be here twice, under two tracks. The second is called by its place, as
// groups without a key are: it is evicted like any other, and only its return teaches nothing.
template <typename Holder>
class GroupHandles {
 public:
  explicit GroupHandles(uint64_t secret) : key_(secret), holders_(&bytes_) {}

  // A handle for the group, which is its own until Remove().
  uint64_t Add(const TrackName& track, uint64_t group, const std::optional<Digest>& key,
               Holder holder) {
    uint64_t handle = key_.OfGroup(track, group, key);
    for (uint64_t copy = 0; holders_.Find(handle) != nullptr; ++copy) {
      handle = key_.OfPlace(track, group, copy);
    }
    holders_.Add(handle, std::move(holder));
    return handle;
  }
  void Remove(uint64_t handle) { holders_.Remove(handle); }
  // REQUIRES: it was given.
  Holder& At(uint64_t handle) { return *holders_.Find(handle); }

  uint64_t OfTrack(const TrackName& track) { return key_.OfTrack(track); }
  size_t bytes() const { return bytes_; }  // Beside the object itself.

 private:
  HandleKey key_;
  size_t bytes_ = 0;
  HandleMap<Holder> holders_;
};

}  // namespace kvcast
