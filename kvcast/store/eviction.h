#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// A group as policies see it: a block of some prefix, which is of use only with those before it.
//
// This is all that a policy is told, and all of it is known to a relay that knows nothing but
// tracks and groups.
struct StoredGroup {
  // Names the block and not the copy: a block that was evicted and is published again, under
  // another track, comes with the same handle, or nothing can be learnt from its return. So it is
  // made of the key that the group's first object carries (and of the track's name, for several
  // rungs have one key), or of track and group where there is none. A keyed digest: peers choose
  // keys.
  uint64_t handle = 0;
  uint64_t track = 0;  // Whose groups go from the end. Means nothing beyond that.
  uint64_t group = 0;  // How deep in its prefix.
  uint64_t bytes = 0;
};

struct EvictionLimits {
  uint64_t bytes_max = 0;  // Of the tier.
  // How many groups that are gone may be remembered. A ghost costs some 160 bytes.
  size_t ghosts_max = 0;
};

// Who goes when room is needed. Knows what a tier holds, and decides nothing but the order.
//
// A full tier first tells of the newcomer and then asks for victims, since the newcomer may be
// the one that is worth least. A tier that frees space by the segment asks in the same way, for as
// many as it takes until some segment is mostly dead, and carries over what is alive in that.
//
// Deterministic: the same calls have the same answers. O(log n) at most, over any run of calls.
// REQUIRES: Insert() for what is not held, everything else for what is.
class Eviction {
 public:
  virtual ~Eviction() = default;

  virtual void Insert(const StoredGroup& group) = 0;
  // Somebody asked for it: once for each fetch, not for each object. Takes no more memory, so that
  // whoever reads need not make room.
  virtual void Hit(uint64_t handle) = 0;
  // Objects of the group came or went.
  virtual void Resize(uint64_t handle, uint64_t bytes) = 0;
  // Never the next, until it is unpinned. REQUIRES: it is not pinned, or is.
  virtual void Pin(uint64_t handle) = 0;
  virtual void Unpin(uint64_t handle) = 0;
  // It had to go, and may be remembered; or it went for another reason, and is not.
  virtual void Evict(uint64_t handle) = 0;
  virtual void Forget(uint64_t handle) = 0;

  // Who goes next. The same until another call is made. Absent: all that is here is pinned.
  virtual std::optional<uint64_t> Victim() = 0;

  // What the policy itself keeps in memory, to the byte: index, queues, ghosts, counters.
  virtual size_t bytes() const = 0;
  virtual size_t ghost_count() const = 0;
};

// The policies by name. Invalid: there is none of this name.
Result<std::unique_ptr<Eviction>> MakeEviction(std::string_view name, const EvictionLimits& limits);
std::vector<std::string_view> EvictionNames();

}  // namespace kvcast
