#pragma once

#include <string_view>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/base/token.h"

namespace kvcast::tinylm {

// Token ids as people write them: decimal numbers with white space or commas between them.
Result<std::vector<Token>> ParseTokenList(std::string_view text);

}  // namespace kvcast::tinylm
