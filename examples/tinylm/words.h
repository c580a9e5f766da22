#pragma once

#include <string_view>

namespace kvcast::tinylm {

// The word that `text` begins with, as GPT-2's pattern cuts it:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// Pairs are merged within words only. A word takes one space in front of it along, and a run of
// white space leaves its last character to what follows. So what a word is can depend on the text
// behind it: cut a text into words before cutting it for any other reason.
//
// REQUIRES: text is UTF-8 and not empty. The word is never empty.
std::string_view FirstWord(std::string_view text);

}  // namespace kvcast::tinylm
