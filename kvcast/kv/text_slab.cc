#include "kvcast/kv/text_slab.h"

#include <algorithm>

namespace kvcast {

uint32_t TextSlab::Put(std::string_view text) {
  const uint32_t first = pieces_.Allocate();
  for (uint32_t number = first;;) {
    Piece& piece = pieces_[number];
    const size_t length = std::min(text.size(), kPieceText);
    std::ranges::copy(text.substr(0, length), piece.text.begin());
    piece.length = static_cast<uint8_t>(length);
    text.remove_prefix(length);
    if (text.empty()) {
      return first;
    }
    number = pieces_.Allocate();
    piece.next = number;
  }
}

void TextSlab::Erase(uint32_t number) {
  while (number != kNone) {
    const uint32_t next = pieces_[number].next;
    pieces_.Free(number);
    number = next;
  }
}

std::string TextSlab::Get(uint32_t number) const {
  std::string text;
  for (; number != kNone; number = pieces_[number].next) {
    text += pieces_[number].view();
  }
  return text;
}

bool TextSlab::Is(uint32_t number, std::string_view text) const {
  for (; number != kNone; number = pieces_[number].next) {
    const std::string_view piece = pieces_[number].view();
    if (!text.starts_with(piece)) {
      return false;
    }
    text.remove_prefix(piece.size());
  }
  return text.empty();
}

}  // namespace kvcast
