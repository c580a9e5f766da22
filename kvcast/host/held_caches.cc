#include "kvcast/host/held_caches.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/host/held_values.h"
#include "kvcast/host/model_text.h"

namespace kvcast {

std::map<std::string, HeldModel> HeldModels(const std::vector<HeldTrack>& tracks) {
  struct Seen {
    std::set<BlockHash> prefixes;
    std::set<Digest> blocks;
    std::set<Digest> values;
    std::set<std::pair<const TrackName*, uint64_t>> groups;
  };
  std::map<std::string, HeldModel> models;
  std::map<std::string, Seen> seen;
  const TrackName* name = nullptr;  // Of equal names the first, which stand one after the other.
  for (const HeldTrack& track : tracks) {
    const Result<CacheTrack> cache = CacheTrack::Parse(*track.name);
    const std::optional<ModelScope> values = ValueScopeOf(*track.name);
    if (!cache.ok() && !values) {
      continue;
    }
    name = name != nullptr && *name == *track.name ? name : track.name;
    const std::string field = (cache.ok() ? cache->scope : *values).Field();
    HeldModel& model = models[field];
    Seen& known = seen[field];
    if (cache.ok()) {
      model.prefixes += known.prefixes.insert(cache->prefix).second ? 1u : 0u;
      model.rungs.insert(track.name->name());
    }
    model.nodes.insert(track.node);
    size_t& count = cache.ok() ? model.blocks : model.values;
    std::set<Digest>& keys = cache.ok() ? known.blocks : known.values;
    for (const auto& [group, block] : *track.groups) {
      count += keys.insert(block.key).second ? 1u : 0u;
      model.bytes += known.groups.insert({name, group}).second ? block.bytes : 0u;
    }
  }
  return models;
}

uint64_t HeldCache::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [group, block] : *groups) {
    bytes += block.bytes;
  }
  return bytes;
}

std::string HeldCache::blocks() const {
  std::vector<uint32_t> numbers;
  for (const auto& [group, block] : *groups) {
    numbers.push_back(static_cast<uint32_t>(std::min<uint64_t>(group, UINT32_MAX)));
  }
  return Ranges(numbers);
}

std::optional<HeldCache> HeldCacheOf(const HeldTrack& track) {
  const Result<CacheTrack> cache = CacheTrack::Parse(*track.name);
  if (!cache.ok()) {
    return std::nullopt;
  }
  return HeldCache{cache->scope.Field(), cache->prefix.ToHex(), ToHex(cache->generation),
                   track.name->name(),   ToHex(track.node),     track.groups};
}

}  // namespace kvcast
