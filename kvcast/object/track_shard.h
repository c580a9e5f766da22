#pragma once

#include <cstddef>

#include "kvcast/object/track_name.h"

namespace kvcast {

// On which shard of a node the tracks of a namespace live. The same for ever: a node's directories
// are divided by it.
//
// Tracks of one namespace stay together, so that a track and the acknowledgements of its durability
// do. Where there are more than two fields, those after the second decide: so a node finds for
// each shard a name under which its catalogs, of whatever tenant and model, live there.
// REQUIRES: shards > 0.
size_t ShardOf(const TrackNamespace& space, size_t shards);

}  // namespace kvcast
