#pragma once

#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/token.h"

namespace kvcast {

// Token ids as people write them: decimal numbers below 2^32 with spaces, commas or line ends
// between them, in brackets or not, so that a tokenizer's output and a JSON array both do.
Result<std::vector<Token>> ParseTokenList(std::string_view text);

}  // namespace kvcast
