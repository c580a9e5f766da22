// Two codes a byte: what the rungs have in common that are packed so. Included inside a target
// region, as simd_rows.h is.
#pragma once

#include <immintrin.h>

#include <algorithm>

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

// Where the groups of rows lie, one after the other. REQUIRES: rows of whole groups.
template <typename Byte>
struct GroupPlaces {
  Byte* row_values;
  const size_t stride;
  const uint32_t row_groups;
  uint32_t rows_left;
  uint32_t in_row;

  explicit GroupPlaces(const PageRows<Byte>& from, uint32_t first = 0)
      : row_values(from.Row(first / (from.size / kGroupValues))),
        stride(from.stride),
        row_groups(from.size / kGroupValues),
        rows_left(from.rows - first / row_groups),
        in_row(first % row_groups) {}
  bool any() const { return rows_left > 0; }
  Byte* Take() {
    Byte* const at = row_values + in_row * kGroupBytes;
    if (++in_row == row_groups) {
      in_row = 0;
      --rows_left;
      row_values += stride;
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
  // Asks for what lies as far behind a group as the next batch's does in pages whose tokens follow
  // each other: it comes while this batch is worked on. Where it is something else, that is all.
  void AskBehind(uint32_t group) const {
    _mm_prefetch(reinterpret_cast<const char*>(values[group]) + size_t{kMost} * kGroupBytes,
                 _MM_HINT_T0);
  }
  // The groups of `from` from number `first` on. REQUIRES: rows of whole groups.
  GroupBatch(const SimdSource& from, uint32_t first, uint32_t most) {
    if (from.stride == size_t{from.size} * kPageValueBytes) {  // One behind the other.
      const std::byte* const at = from.values + size_t{first} * kGroupBytes;
      count = std::min(most, from.rows * (from.size / kGroupValues) - first);
      for (uint32_t i = 0; i < count; ++i) {
        values[i] = at + size_t{i} * kGroupBytes;
      }
      return;
    }
    for (GroupPlaces<const std::byte> places(from, first); count < most && places.any();) {
      values[count++] = places.Take();
    }
  }
};

}  // namespace
}  // namespace kvcast
