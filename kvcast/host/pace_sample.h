#pragma once

#include <optional>
#include <span>

#include "kvcast/engine/node_connection.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// Loads a little of what a connection's node has of the prompt, at one of these rungs, and lets go
// of it: after that it is known how fast the node is, and what BlockPlace::time says. A few
// megabytes or one block, and a few seconds, at most. Where nothing can be had so, nothing is known
// either, and that is no fault.
void SamplePace(const CacheTask& task, NodeConnection& node, std::span<const Rung> rungs);

}  // namespace kvcast
