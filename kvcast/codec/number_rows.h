#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/codec/half_type.h"

namespace kvcast {

// Constants of a row's values lie in groups of 32: those of values with even numbers, then those of
// odd ones. Then two registers of 32 bits a value make one of 16 in order, without a permutation.
inline constexpr uint32_t kSplitGroup = 32;
inline constexpr uint32_t SplitPlace(uint32_t value) {
  return value / kSplitGroup * kSplitGroup + value % 2 * (kSplitGroup / 2) +
         value % kSplitGroup / 2;
}
// Whose place it is.
inline constexpr uint32_t SplitValue(uint32_t place) {
  return place / kSplitGroup * kSplitGroup + place % (kSplitGroup / 2) * 2 +
         place % kSplitGroup / (kSplitGroup / 2);
}
inline constexpr uint32_t SplitSize(uint32_t values) {
  return (values + kSplitGroup - 1) / kSplitGroup * kSplitGroup;
}

// Where words lie that come of two such registers packed: of each eight values the even ones first.
inline constexpr uint32_t kPackedGroup = 8;
inline constexpr uint32_t PackedPlace(uint32_t value) {
  return value / kPackedGroup * kPackedGroup + value % 2 * (kPackedGroup / 2) +
         value % kPackedGroup / 2;
}
inline constexpr uint32_t PackedValue(uint32_t place) {
  return place / kPackedGroup * kPackedGroup + place % (kPackedGroup / 2) * 2 +
         place % kPackedGroup / (kPackedGroup / 2);
}

// How a head's keys are turned, of all tokens of a run. Pairs that lie apart have their cosines and
// sines in split places, adjacent ones in order.
struct RowTurns {
  const float* cosines = nullptr;  // None: not turned.
  const float* sines = nullptr;
  size_t stride = 0;  // From one token to the next.
  uint32_t first = 0;
  uint32_t pairs = 0;
  bool adjacent = false;

  uint32_t PlaceOf(uint32_t pair) const { return adjacent ? pair : SplitPlace(pair); }
  // Whether vectors of 32 values meet vectors of 32.
  bool InGroups() const {
    return cosines == nullptr ||
           (first % kSplitGroup == 0 && pairs % (adjacent ? kSplitGroup / 2 : kSplitGroup) == 0);
  }
};

// Some heads in an engine's pages, of all tokens of a run. Numbers and constants of one begin
// SplitSize(size) behind those of the one before.
template <typename Byte>
struct HeadRows {
  Byte* const* rows = nullptr;  // One a token: its first head.
  uint32_t tokens = 0;
  uint32_t heads = 0;
  size_t head_stride = 0;  // In bytes.
  uint32_t size = 0;       // Values of a head.
  HalfType type = HalfType::kBf16;
  RowTurns turns;
  const float* means = nullptr;  // In split places.
};

// Two groups of a head that are worked on together: those whose values are turned by one another,
// or any two others. May be the same one twice.
struct GroupPair {
  uint32_t first = 0;  // Its first value.
  uint32_t second = 0;
};

// All groups of a head as such pairs. REQUIRES: turns that are in groups.
class GroupPairs {
 public:
  GroupPairs(const RowTurns& turns, uint32_t size)
      : groups_(SplitSize(size) / kSplitGroup),
        apart_(turns.cosines != nullptr && !turns.adjacent ? turns.pairs / kSplitGroup : 0),
        begin_(turns.first / kSplitGroup) {}

  uint32_t count() const { return apart_ + (groups_ - 2 * apart_ + 1) / 2; }
  bool IsApart(uint32_t index) const { return index < apart_; }
  GroupPair operator[](uint32_t index) const {
    if (index < apart_) {
      return {(begin_ + index) * kSplitGroup, (begin_ + apart_ + index) * kSplitGroup};
    }
    const uint32_t other = 2 * (index - apart_);
    return {Other(other), Other(other + 2 * apart_ + 1 < groups_ ? other + 1 : other)};
  }

 private:
  // Of those that are not turned by values of another group.
  uint32_t Other(uint32_t index) const {
    return (index < begin_ || apart_ == 0 ? index : index + 2 * apart_) * kSplitGroup;
  }

  uint32_t groups_;
  uint32_t apart_;
  uint32_t begin_;
};

// Rows of numbers by component, anywhere among rows that lie one behind the other. Their addresses
// are made where they are needed: a list of them would be written behind values on their way to
// memory, and wait for those.
template <typename Number>
struct NumberRows {
  Number* first = nullptr;
  size_t stride = 0;
  const uint32_t* places = nullptr;

  Number* operator[](size_t i) const { return first + places[i] * stride; }
};

// How components become numbers: in 1/256 of a step, and those rounded. In split places, and for
// numbers of a byte in packed ones.
struct NumberRounding {
  const float* parts = nullptr;
  const int32_t* rounding = nullptr;
  const int32_t* zero_below = nullptr;
  const uint16_t* packed_rounding = nullptr;
  const uint16_t* packed_zero_below = nullptr;

  // What parts have to stay below so that numbers fit into a byte, however they are rounded.
  static constexpr int32_t kBytePartsEnd = 127 * 256;
};

// The lower bits of a unit's numbers: for each bit, from the lowest on, that of all numbers.
struct RawPlanes {
  uint8_t shift = 0;
  size_t plane_bytes = 0;

  static RawPlanes Of(uint8_t shift, size_t numbers) { return {shift, (numbers + 7) / 8}; }
  size_t bytes() const { return shift * plane_bytes; }
};

}  // namespace kvcast
