#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/token.h"

namespace kvcast {

// Token ids as people write them: decimal numbers below 2^32 with spaces, commas or line ends
// between them, in brackets or not, so that a tokenizer's output and a JSON array both do.
Result<std::vector<Token>> ParseTokenList(std::string_view text);

// By which a KV file says whose cache it is: SHA-256 over the ids as u32, little-endian.
inline constexpr std::string_view kTokensDigestKey = "kvcast.tokens_sha256";
// The ids themselves, for whoever is to find out how much of another prompt a file holds.
inline constexpr std::string_view kPromptKey = "kvcast.prompt";
std::string TextOf(std::span<const Token> tokens);  // "1 2 3"
Digest DigestOfTokens(std::span<const Token> tokens);

}  // namespace kvcast
