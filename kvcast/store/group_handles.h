#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kvcast/base/digest.h"
#include "kvcast/store/handle_map.h"

namespace kvcast {

struct RamGroup;

// The handles under which policies know groups: which group has which, no two the same.
//
// A group with a key is called by the key, its track's own name (rungs of a block share a key), and
// the second field of the namespace (so that no tenant names another's blocks): whoever
// publishes the block again, under whatever prefix and generation, finds it known. Copies of a
// block may be here twice, under two tracks. The second is called by its track and number, as are
// groups without a key: it is evicted like any other, and only its return teaches nothing.
//
// Digests under a secret, cut to 64 bits: peers choose all of this.
class GroupHandles {
 public:
  explicit GroupHandles(uint64_t secret);

  // Gives it a handle, which is its own until Remove().
  void Add(RamGroup& group);
  void Remove(const RamGroup& group);
  // REQUIRES: it was given.
  RamGroup& At(uint64_t handle) { return **groups_.Find(handle); }

  size_t bytes() const { return bytes_; }  // Beside the object itself.

 private:
  uint64_t Cut(const std::string& text);

  HmacSha256 digest_;
  size_t bytes_ = 0;
  HandleMap<RamGroup*> groups_;
};

}  // namespace kvcast
