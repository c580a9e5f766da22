#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// Lower case, two digits a byte.
std::string ToHex(std::span<const std::byte> bytes);

// Takes either case. An odd length or another character is malformed, at its offset.
Result<std::vector<std::byte>> FromHex(std::string_view text);

// The value of one hex digit of either case, or -1.
int HexDigitValue(char digit);

// For a person's eyes: what is printable ASCII stays, everything else becomes \xNN, and what is
// longer than `bytes_max` ends in "...". Names and messages from a peer go through this.
std::string Printable(std::string_view text, size_t bytes_max = 80);

// Text of others in any language, for a terminal or a log: what would move a cursor, change colours
// or begin a line becomes \xNN.
std::string Harmless(std::string_view text);

}  // namespace kvcast
