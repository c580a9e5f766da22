#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"

namespace kvcast {

// Takes what a TOML text says into a node's configuration; `name` is what its lines are called by.
//
// Invalid: it is no TOML, has a key or a section that there is not, or a value that is none. The
// message names file and line, and what was probably meant. Then the configuration is of no use.
Result<void> TakeConfigText(std::string_view text, const std::string& name, NodeConfig& config);

// The same of a file.
Result<void> TakeConfigFile(const std::filesystem::path& file, NodeConfig& config);

}  // namespace kvcast
