#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/client/catalog_view.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {

// What nodes hold of one model, in figures. What several hold counts once.
struct HeldModel {
  size_t prefixes = 0;
  size_t blocks = 0;  // Of different content, at whichever rungs.
  size_t values = 0;  // Of engines that keep them under keys of their own.
  uint64_t bytes = 0;
  std::set<std::string> rungs;
  std::set<NodeId> nodes;
};
// By the name that people write: TENANT/NAME@16-HEX-DIGITS.
std::map<std::string, HeldModel> HeldModels(const std::vector<HeldTrack>& tracks);

// A track of a cache as one node holds it, in words.
struct HeldCache {
  std::string model;
  std::string prefix;      // What was published, as a hash in hex.
  std::string generation;  // By which act, in hex.
  std::string rung;        // With its slice.
  std::string node;        // In hex.
  const std::map<uint64_t, Holdings::Block>* groups = nullptr;

  uint64_t bytes() const;
  // Its blocks, put together where they follow each other: "0-26, 30".
  std::string blocks() const;
};
// Absent for a track that is no cache's, or of a rung that this version does not know.
std::optional<HeldCache> HeldCacheOf(const HeldTrack& track);

// The first so many digits tell nodes, prefixes and generations apart for people.
inline constexpr size_t kShortHex = 16;

}  // namespace kvcast
