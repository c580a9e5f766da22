#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/client/catalog_view.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {

// Whose values a track carries; absent for one that carries none, such as a cache's.
std::optional<ModelScope> ValueScopeOf(const TrackName& track);

// A value that an engine keeps under a key of its own, as one node holds it, in words.
struct HeldValue {
  std::string model;
  std::string name;        // What stands for the engine's key, in hex.
  std::string generation;  // By which batch it was put, in hex.
  std::string node;        // In hex.
  uint64_t bytes = 0;      // As it is held, with what says of which value each piece is.
};
// In the order of the batch. Empty for a track that carries no values.
std::vector<HeldValue> HeldValuesOf(const HeldTrack& track);

}  // namespace kvcast
