#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// How a node is divided among its shards: each has its part of the memory, a directory of its own
// in every directory and its share of the packs in every bucket, and its own catalogs. Limits hold
// on each.
// With one shard nothing changes.

// "shard-1-of-4"
std::string ShardName(size_t index, size_t count);

struct ShardPlace {
  size_t index = 0;
  size_t count = 1;

  // Of a directory's name, or of the end of a path or bucket; absent: it is no shard's.
  static std::optional<ShardPlace> In(std::string_view where);
};

// Whether a directory is as a node of so many shards leaves it, or new. Unsupported: it was written
// with another number of them, and what is in it would be looked for in the wrong place.
Result<void> CheckShardDirectory(const std::filesystem::path& directory, size_t count);

// What the shard runs with. What it knows of forgetting is kept beside that of the others.
Result<NodeServer::Options> ShardOptions(const NodeServer::Options& node, size_t index,
                                         size_t count, const std::filesystem::path& state);

// Who the shard is to others, and of such a one who the node is: a node has one catalog of a tenant
// and model, so each shard is one of its own.
NodeId ShardNode(NodeId node, size_t index);

// Which shard of the node is to hear what is asked of a track of the namespace. A
// question by which a shard looks for rings, see RingWatch, comes back to that shard.
size_t ShardAsked(const NodeId& node, const TrackNamespace& space, size_t count);

// What peers may cost one shard of so many. What counts for the node is divided; of what counts for
// one identity, whose tracks are never spread evenly, each shard has twice an equal part, and no
// less than a few need.
relay::Limits ShardLimits(relay::Limits limits, size_t count);
// How many connections one shard of so many takes.
QuicServer::Options ShardDoor(QuicServer::Options door, size_t count);

}  // namespace kvcast
