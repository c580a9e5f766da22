#pragma once

#include <string>

#include "kvcast/host/config_key.h"
#include "kvcast/host/node_config.h"

namespace kvcast {

// A node's configuration as a TOML file that says the same: every key with what it means, its unit,
// its default, and who has set it.
std::string ConfigText(const NodeConfig& config);

// A key's row in docs/reference/config.md.
std::string ConfigKeyRow(const ConfigKey& key);
std::string ConfigKeyRow(const ConfigTierKey& key);

}  // namespace kvcast
