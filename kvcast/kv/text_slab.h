#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/kv/slab.h"

namespace kvcast {

// Texts by number, in pieces of one size: what they cost is known to the byte, whatever their
// lengths, and any piece that was given back fits any text.
class TextSlab {
 public:
  uint32_t Put(std::string_view text);
  void Erase(uint32_t number);

  std::string Get(uint32_t number) const;
  bool Is(uint32_t number, std::string_view text) const;

  // How many pieces a text takes; one at least.
  static size_t PiecesFor(std::string_view text) {
    return text.empty() ? 1 : (text.size() + kPieceText - 1) / kPieceText;
  }
  size_t bytes() const { return pieces_.bytes(); }
  // What texts of so many pieces would add to that, at its peak.
  size_t bytes_to_put(size_t pieces) const { return pieces_.bytes_to_allocate(pieces); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kPieceText = 27;
  struct Piece {
    uint32_t next = kNone;
    uint8_t length = 0;
    std::array<char, kPieceText> text{};
    std::string_view view() const { return {text.data(), length}; }
  };
  static_assert(sizeof(Piece) == 32);

  Slab<Piece, &Piece::next> pieces_;
};

}  // namespace kvcast
