#pragma once

#include "kvcast/base/json.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// Why the last fetches got less than they asked for, as docs/reference/admin.md describes it. On
// the loop's thread.
Json NodeMisses(const NodeServer& node, Instant now);

}  // namespace kvcast
