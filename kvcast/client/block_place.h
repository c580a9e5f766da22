#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/node_pace.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {

// One way in which a block can be had: as that, from what somebody published, at that node.
struct BlockPlace {
  size_t block = 0;
  Rung rung = Rung::kBf16;
  Generation generation{};
  NodeId node{};
  uint64_t bytes = 0;  // As the catalog has it.
  // What it takes to come, once it comes; absent if nobody knows yet how fast the node is.
  std::optional<Duration> time{};
};

using NodeIds = std::map<NodeRef, NodeId>;

// Where the blocks from `first_block` on are, for who wants to know or to show it; a match is what
// a load needs. In the prompt's order, up to the first that is nowhere; of a block those of the
// first rung come first, and few of each. With a generation, only what was published under it
// counts, for all of that.
std::vector<BlockPlace> PlacesOf(const PrefixIndex& index, const NodeIds& nodes,
                                 std::span<const BlockHash> blocks, const CacheKind& kind,
                                 std::span<const Rung> rungs, size_t first_block,
                                 const std::optional<Generation>& generation, const NodePace& pace,
                                 Instant now);

}  // namespace kvcast
