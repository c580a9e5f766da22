// The row kernels over any set of vectors `V` that works on 32 values at a time. Included inside a
// target region by the one source of each instruction set, which defines V.
#pragma once

#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/simd_target.h"

namespace kvcast {
namespace {

using SimdSource = PageRows<const std::byte>;
using SimdTarget = PageRows<std::byte>;
using SimdCoded = CodedRows<std::byte>;
using SimdConstCoded = CodedRows<const std::byte>;

inline constexpr size_t kGroupBytes = size_t{kGroupValues} * kPageValueBytes;

// The last values of a row that do not fill a group, as a group.
struct Padded {
  alignas(64) std::byte unused[16];
  std::byte values[kGroupBytes];  // On no line's border: what goes past the caches is slow to read.

  // Behind them stand copies of the first, which change no minimum and no maximum.
  Padded(const std::byte* from, uint32_t count) {
    std::memcpy(values, from, count * kPageValueBytes);
    for (uint32_t i = count; i < kGroupValues; ++i) {
      std::memcpy(values + i * kPageValueBytes, from, kPageValueBytes);
    }
  }
  Padded() = default;
};

inline uint16_t LoadWord(const std::byte* from, size_t index) {
  uint16_t value = 0;
  std::memcpy(&value, from + index * sizeof(value), sizeof(value));
  return value;
}
inline void StoreWord(std::byte* to, size_t index, uint16_t value) {
  std::memcpy(to + index * sizeof(value), &value, sizeof(value));
}

template <typename V, HalfType kType>
float RowLargest(const std::byte* values, uint32_t size) {
  typename V::Words largest = V::NoWords();
  uint32_t i = 0;
  for (; i + kGroupValues <= size; i += kGroupValues) {
    largest = V::LargerMagnitudes(largest, V::LoadWords(values + i * kPageValueBytes));
  }
  if (i < size) {
    const Padded rest(values + i * kPageValueBytes, size - i);
    largest = V::LargerMagnitudes(largest, V::LoadWords(rest.values));
  }
  return ToFloat(kType, Bounded(kType, V::LargestWord(largest)));
}

template <typename V, HalfType kType>
void SimdEncodeInt8(const SimdSource& from, const SimdCoded& to) {
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row, codes += from.size) {
    const std::byte* values = from.Row(row);
    const float largest = RowLargest<V, kType>(values, from.size);
    const uint16_t scale = largest < kSpanMin ? uint16_t{0} : FloatToBf16(largest / 127.0F);
    const float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
    StoreWord(to.scales, row, scale);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      V::StoreBytes(
          codes + i,
          V::ToInt8(V::Scaled(V::template Load<kType>(values + i * kPageValueBytes), inverse)));
    }
    if (i < from.size) {
      const Padded rest(values + i * kPageValueBytes, from.size - i);
      std::byte padded[kGroupValues];
      V::StoreBytes(padded, V::ToInt8(V::Scaled(V::template Load<kType>(rest.values), inverse)));
      std::memcpy(codes + i, padded, from.size - i);
    }
  }
}

template <typename V, HalfType kType>
void SimdDecodeInt8(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row, codes += to.size) {
    std::byte* values = to.Row(row);
    const float scale = Bf16ToFloat(LoadWord(from.scales, row));
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      V::template Store<kType>(values + i * kPageValueBytes,
                               V::Scaled(V::FromInt8(codes + i), scale));
    }
    if (i < to.size) {
      std::byte padded[kGroupValues] = {};
      std::memcpy(padded, codes + i, to.size - i);
      Padded rest;
      V::template Store<kType>(rest.values, V::Scaled(V::FromInt8(padded), scale));
      std::memcpy(values + i * kPageValueBytes, rest.values, (to.size - i) * kPageValueBytes);
    }
  }
}

template <typename V, HalfType kType>
void SimdEncodeFp8(const SimdSource& from, const SimdCoded& to) {
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row, codes += from.size) {
    const std::byte* values = from.Row(row);
    const float inverse = 1.0F / to.statics[row];
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      V::StoreBytes(
          codes + i,
          V::ToE4m3(V::Scaled(V::template Load<kType>(values + i * kPageValueBytes), inverse)));
    }
    if (i < from.size) {
      const Padded rest(values + i * kPageValueBytes, from.size - i);
      std::byte padded[kGroupValues];
      V::StoreBytes(padded, V::ToE4m3(V::Scaled(V::template Load<kType>(rest.values), inverse)));
      std::memcpy(codes + i, padded, from.size - i);
    }
  }
}

template <typename V, HalfType kType>
void SimdDecodeFp8(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  for (uint32_t row = 0; row < to.rows; ++row, codes += to.size) {
    std::byte* values = to.Row(row);
    // As halves the codes are 2^8 too small, which costs no rounding to make good.
    const float scale = from.statics[row] * 0x1p8F;
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      V::template Store<kType>(values + i * kPageValueBytes,
                               V::Scaled(V::FromE4m3AsHalf(codes + i), scale));
    }
    if (i < to.size) {
      std::byte padded[kGroupValues] = {};
      std::memcpy(padded, codes + i, to.size - i);
      Padded rest;
      V::template Store<kType>(rest.values, V::Scaled(V::FromE4m3AsHalf(padded), scale));
      std::memcpy(values + i * kPageValueBytes, rest.values, (to.size - i) * kPageValueBytes);
    }
  }
}

}  // namespace
}  // namespace kvcast
