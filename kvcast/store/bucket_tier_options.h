#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "kvcast/base/time.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

struct BucketTierOptions {
  std::string prefix;  // Of all keys, without a slash at its end.
  PackNode node;       // Whose packs ours are: random, kept across starts.
  // Where several tiers of one node have the bucket together, each with tracks of its own: which of
  // these this one is, and which tracks are its. Empty: all.
  PackShare share{};
  std::function<bool(const TrackNamespace&)> owns{};
  uint64_t seed = 0;                          // For names of packs and for delays: random.
  uint64_t key_property = 0;                  // The immutable property that holds a group's key.
  uint64_t pack_bytes = 64 << 20;             // At most. A pack is closed
  uint64_t enough_bytes = UINT64_MAX;         // when it has so much, is full,
  Duration linger = std::chrono::seconds(1);  // or is so old.
  uint64_t bytes_max = 0;                     // For packs of this node; 0: no bound.
  // Of these, by tenant, in packs as they lie there. What a tenant has within its reservation goes
  // for its own sake only.
  std::map<std::string, uint64_t> reservations{};
  uint64_t queue_bytes_max = 256 << 20;  // Of puts that are not in the bucket yet.
  uint64_t read_bytes_max = 256 << 20;   // Of gets that are under way.
  size_t index_bytes_max = SIZE_MAX;
  size_t packs_max = 1 << 20;
  size_t uploads_max = 4;
  Duration get_patience = std::chrono::milliseconds(200);
  Duration upload_patience = std::chrono::minutes(2);
  Duration survey_every = std::chrono::minutes(1);  // For packs of other nodes; 0: only at start.
  // How often it is looked whether there are as many small packs of this node's as are to be put
  // together; 0: never.
  Duration merge_every{};
  size_t merge_packs_min = 8;

  // The least that `bytes_max` may be, where it is a bound.
  uint64_t LeastBytes() const;
};

}  // namespace kvcast
