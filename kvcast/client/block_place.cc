#include "kvcast/client/block_place.h"

#include <algorithm>

namespace kvcast {
namespace {

// Of one block at one rung: however many hold it, or say so.
constexpr size_t kPlacesMax = 16;

}  // namespace

std::vector<BlockPlace> PlacesOf(const PrefixIndex& index, const NodeIds& nodes,
                                 std::span<const BlockHash> blocks, const CacheKind& kind,
                                 std::span<const Rung> rungs, size_t first_block,
                                 const std::optional<Generation>& generation, const NodePace& pace,
                                 Instant now) {
  std::vector<BlockPlace> places;
  const PrefixMatch found = index.LongestMatch(blocks);
  for (size_t block = first_block; found.Has(block); ++block) {
    const std::vector<BlockSource> sources = index.Sources(found, block);
    const size_t before = places.size();
    for (const Rung rung : rungs) {
      const CacheKind wanted = kind.At(rung);
      size_t count = 0;
      for (const BlockSource& source : sources) {
        if (count == kPlacesMax || !wanted.Includes(source.track)) {
          continue;
        }
        const Result<CacheTrack> track = CacheTrack::Parse(source.track);
        const auto node = nodes.find(source.node);
        if (!track.ok() || node == nodes.end() ||
            (generation && track->generation != *generation)) {
          continue;
        }
        BlockPlace place{block, rung, track->generation, node->second, source.bytes};
        if (pace.known()) {
          place.time = pace.TimeFor(rung, source.bytes, now);
        }
        places.push_back(place);
        ++count;
      }
    }
    if (places.size() == before) {
      break;
    }
  }
  return places;
}

}  // namespace kvcast
