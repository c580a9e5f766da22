// Two codes a byte: what the rungs have in common that are packed so. Included inside a target
// region, as simd_rows.h is.
#pragma once

#include "kvcast/codec/simd_rows.h"

namespace kvcast {
namespace {

// 16 bytes of a whole group, as packed, to fewer values.
inline void RepackCodes(const uint8_t* codes, uint32_t count, std::byte* to) {
  const uint32_t half = PackedBytes(count);
  for (uint32_t i = 0; i < half; ++i) {
    const uint32_t upper = i + half < count ? codes[i + half] : 0;
    to[i] = static_cast<std::byte>(codes[i] | upper << 4);
  }
}
// The other way: fewer values, as packed, to a whole group's 16 bytes.
inline void SpreadCodes(const std::byte* from, uint32_t count, std::byte* to) {
  const uint32_t half = PackedBytes(count);
  uint8_t codes[kGroupValues] = {};
  for (uint32_t i = 0; i < count; ++i) {
    codes[i] = static_cast<uint8_t>(i < half ? from[i] & std::byte{15} : from[i - half] >> 4);
  }
  for (uint32_t i = 0; i < kScaleBlockValues; ++i) {
    to[i] = static_cast<std::byte>(codes[i] | codes[i + kScaleBlockValues] << 4);
  }
}

template <typename V>
typename V::Floats WholeFloats(const typename V::Floats& x) {
  constexpr float kMagic = 0x1.8p23F;  // As in WholeOf().
  return V::Plus(V::Plus(x, kMagic), -kMagic);
}

// Where the groups of rows lie, one after the other. REQUIRES: rows of whole groups.
template <typename Byte>
struct GroupPlaces {
  const PageRows<Byte> rows;
  const uint32_t row_groups;
  uint32_t row;
  uint32_t in_row;

  explicit GroupPlaces(const PageRows<Byte>& from, uint32_t first = 0)
      : rows(from),
        row_groups(from.size / kGroupValues),
        row(first / row_groups),
        in_row(first % row_groups) {}
  bool any() const { return row < rows.rows; }
  Byte* Take() {
    Byte* const at = rows.Row(row) + in_row * kGroupBytes;
    if (++in_row == row_groups) {
      in_row = 0;
      ++row;
    }
    return at;
  }
};

// Up to 32 whole groups, of one row or several: what is a matter of a group and not of a value is
// done for all of them at once.
struct GroupBatch {
  static constexpr uint32_t kMost = 32;
  // One a group, or a block; not on a line's border, as in Padded.
  alignas(64) std::byte unused[16];
  std::byte words[2][kMost * sizeof(uint16_t)] = {};
  float inverses[kMost];
  const std::byte* values[kMost];
  uint32_t count = 0;

  explicit GroupBatch(const std::byte* group) : count(1) { values[0] = group; }
  // The groups of `from` from number `first` on. REQUIRES: rows of whole groups.
  GroupBatch(const SimdSource& from, uint32_t first, uint32_t most) {
    for (GroupPlaces<const std::byte> places(from, first); count < most && places.any();) {
      values[count++] = places.Take();
    }
  }
};

}  // namespace
}  // namespace kvcast
