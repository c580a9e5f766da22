#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kvcast/codec/rans.h"

namespace kvcast {

// How components of one size are made whole numbers, and how often each of those is.
//
// A number's upper part, number >> shift, is a symbol from -7 to 7, or "other", a byte written out;
// if it is kFar, the upper part is too large for a byte and written out as a word. The number's
// lower `shift` bits are written as they are. An encoder rounds magnitudes, in 1/256 of a step,
// to (magnitude + rounding) / 256, and those below `zero_below` to 0: larger numbers cost more
// bits, so that what lies between two of them should be the smaller.
struct SymbolTable {
  static constexpr size_t kSymbols = 16;
  static constexpr int32_t kNamedMax = 7;
  static constexpr uint32_t kTotal = 256;
  static constexpr uint8_t kShiftMax = 6;
  static constexpr uint8_t kFar = 0x80;
  static constexpr int32_t kStepParts = 256;
  static constexpr size_t kBytes = 4 + kSymbols;

  uint8_t shift = 0;
  uint8_t rounding = 128;
  uint16_t zero_below = 128;
  std::array<uint8_t, kSymbols> shares{};  // Of 256; the last: others, at least 1.

  bool IsSound() const;
  RansTable ForCoding() const;
  // The byte that stands for a number's upper part.
  uint8_t UpperByte(int32_t number) const {
    const int32_t upper = number >> shift;
    return upper == static_cast<int8_t>(upper) && upper != -kFar ? static_cast<uint8_t>(upper)
                                                                 : kFar;
  }
  // What an encoder makes of a component, in 1/256 of a step.
  int32_t NumberOf(int32_t parts) const {
    const int32_t magnitude = parts < 0 ? -parts : parts;
    const int32_t number = magnitude < zero_below ? 0 : (magnitude + rounding) / kStepParts;
    return parts < 0 ? -number : number;
  }
  friend bool operator==(const SymbolTable&, const SymbolTable&) = default;
};

// How often each number was seen among components of one size; the rest are counted with the
// largest.
class NumberCounts {
 public:
  static constexpr int32_t kNumberMax = 1023;

  void Add(int32_t number);
  uint64_t total() const { return total_; }
  // `table` with the shift and the shares that take the fewest bits.
  SymbolTable Fitted(SymbolTable table) const;
  // How many bits all of them take with a table, about.
  double BitsWith(const SymbolTable& table) const;

 private:
  std::array<uint64_t, SymbolTable::kSymbols> SymbolCounts(uint8_t shift) const;

  std::array<uint64_t, 2 * kNumberMax + 1> counts_{};
  uint64_t total_ = 0;
};

}  // namespace kvcast
