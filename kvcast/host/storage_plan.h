#pragma once

#include <cstdint>

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// Divides a node's memory among its tiers, and says where those are. A node that is told of neither
// a disk nor a bucket has a directory of the user's cache, if there is room for one. Throws what
// CLI11 throws for what makes no sense.
Result<void> PlanStorage(const NodeConfig& config, const NodeId& id, uint64_t ram_bytes,
                         NodeServer::Options& node);

// How large packs are, of which so many bytes may wait.
uint64_t PackBytesFor(uint64_t queue_bytes);

}  // namespace kvcast
