#pragma once

#include "kvcast/base/json.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// What a node is and has, as docs/reference/admin.md describes it. On the loop's thread.
Json NodeStatus(NodeServer& node, Duration uptime, bool ready);
// Adds what another shard of the node says of itself.
void AddShardStatus(Json& status, const Json& shard);

}  // namespace kvcast
