#include "examples/tinylm/characters.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace kvcast::tinylm {
namespace {

struct Range {
  char32_t first;
  char32_t last;
  CharacterKind kind;
};

constexpr CharacterKind L = CharacterKind::kLetter;
constexpr CharacterKind N = CharacterKind::kNumber;
constexpr CharacterKind S = CharacterKind::kSpace;

constexpr Range kRanges[] = {
#include "examples/tinylm/unicode_ranges.inc"
};

// The least code point that needs as many bytes as the index says.
constexpr char32_t kLeastOfBytes[] = {0, 0, 0x80, 0x800, 0x10000};

}  // namespace

CharacterKind KindOf(char32_t code) {
  const auto* const after = std::ranges::upper_bound(kRanges, code, {}, &Range::first);
  if (after == std::begin(kRanges) || code > std::prev(after)->last) {
    return CharacterKind::kOther;
  }
  return std::prev(after)->kind;
}

// 0xxxxxxx   110xxxxx 10xxxxxx   1110xxxx 10xxxxxx*2   11110xxx 10xxxxxx*3
Character FirstCharacter(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const auto first = static_cast<uint8_t>(text.front());
  const auto ones = static_cast<size_t>(std::countl_one(first));
  if (ones == 0) {
    return {first, 1};
  }
  if (ones == 1 || ones > 4 || ones > text.size()) {
    return {};
  }
  char32_t code = first & (0x7fu >> ones);
  for (size_t at = 1; at < ones; ++at) {
    const auto next = static_cast<uint8_t>(text[at]);
    if ((next & 0xc0u) != 0x80u) {
      return {};
    }
    code = code << 6 | (next & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeastOfBytes[ones] || code > 0x10ffff || surrogate) {
    return {};
  }
  return {code, ones};
}

Result<void> CheckUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = FirstCharacter(text.substr(at)).bytes;
    if (bytes == 0) {
      return Error(ErrorCode::kMalformed, "The text is not UTF-8.").At(at);
    }
    at += bytes;
  }
  return {};
}

}  // namespace kvcast::tinylm
