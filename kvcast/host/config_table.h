#pragma once

#include <vector>

#include "kvcast/host/config_key.h"

namespace kvcast {

// The parts of the table that ConfigKeys() has as one.
void AddLimitKeys(std::vector<ConfigKey>& keys);

}  // namespace kvcast
