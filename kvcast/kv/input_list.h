#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// Images and sounds as people and KV files write them: POSITION=SHA256, the token where it begins
// and 64 hex digits. Files have all that begin among their tokens, by rising positions, with one
// space between two: of equal lists the texts are equal.

// By which a KV file says of which inputs it is, beside its tokens, and of which salt.
inline constexpr std::string_view kInputsKey = "kvcast.inputs";
inline constexpr std::string_view kSaltDigestKey = "kvcast.salt_sha256";

std::optional<ForeignInput> ParseInput(std::string_view text);
// Absent: it is none that a file of so many tokens has.
std::optional<std::vector<ForeignInput>> ParseInputList(std::string_view text, uint64_t tokens);
// Of those, in any order, that begin before a token.
std::string TextOf(std::span<const ForeignInput> inputs, uint64_t end);
// How many of so many tokens stand before the first input that only one of two lists has.
uint64_t SharedTokens(std::span<const ForeignInput> one, std::span<const ForeignInput> other,
                      uint64_t tokens);

}  // namespace kvcast
