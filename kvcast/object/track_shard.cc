#include "kvcast/object/track_shard.h"

#include <cstdint>

#include "kvcast/base/check.h"

namespace kvcast {

// FNV-1a over the packed fields, its halves folded so that every bit of it counts.
size_t ShardOf(const TrackNamespace& space, size_t shards) {
  KVCAST_CHECK(shards > 0);
  if (shards == 1) {
    return 0;
  }
  constexpr size_t kScopeFields = 2;
  const TrackNamespace rest =
      space.field_count() > kScopeFields ? space.After(kScopeFields) : space;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : rest.packed()) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return static_cast<size_t>((hash ^ (hash >> 32)) % shards);
}

}  // namespace kvcast
