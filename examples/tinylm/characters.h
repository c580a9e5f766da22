#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "examples/tinylm/base/result.h"

namespace kvcast::tinylm {

// What the pattern that cuts text into words asks about a character: is it \p{L}, \p{N} or \s?
// Combining marks are none of them.
enum class CharacterKind : uint8_t { kOther, kLetter, kNumber, kSpace };

// Of any number: what is no code point is kOther.
CharacterKind KindOf(char32_t code);

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  // In UTF-8; 0 where there is none.
};

// The character that `text` begins with; none if there is no text or it is not UTF-8. Surrogates
// and forms longer than needed are not UTF-8.
Character FirstCharacter(std::string_view text);

// Malformed, at the offset of the first byte that begins no character.
Result<void> CheckUtf8(std::string_view text);

}  // namespace kvcast::tinylm
