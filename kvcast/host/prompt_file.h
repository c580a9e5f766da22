#pragma once

#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/token.h"

namespace kvcast {

// The token ids in a file, or in standard input if it is called "-".
Result<std::vector<Token>> ReadPromptFile(const std::string& file);

}  // namespace kvcast
