#pragma once

#include "kvcast/base/json.h"
#include "kvcast/host/node_config.h"

namespace kvcast {

// What ConfigText() writes, for programs: an object for each section, a list of them for those that
// may be there several times, and where each key that was set was set. A secret that was set is
// null.
Json ConfigJson(const NodeConfig& config);

}  // namespace kvcast
