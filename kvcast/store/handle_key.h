#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kvcast/base/digest.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Makes the handles under which policies know groups (eviction.h), the same for every tier.
//
// A group with a key is called by the key, its track's own name (rungs of a block share a key), and
// the second field of the namespace (so that no tenant names another's blocks): whoever publishes
// the block again, under whatever prefix and generation, finds it known. A group without one is
// called by its place, its track and number.
//
// Digests under a secret, cut to 64 bits: peers choose all of this.
class HandleKey {
 public:
  explicit HandleKey(uint64_t secret);

  uint64_t OfBlock(const TrackName& track, const Digest& key);
  // `copy`: for whoever finds that the 64 bits are taken.
  uint64_t OfPlace(const TrackName& track, uint64_t group, uint64_t copy = 0);
  uint64_t OfGroup(const TrackName& track, uint64_t group, const std::optional<Digest>& key) {
    return key ? OfBlock(track, *key) : OfPlace(track, group);
  }
  uint64_t OfTrack(const TrackName& track);

 private:
  uint64_t Cut(const std::string& text);

  HmacSha256 digest_;
};

}  // namespace kvcast
