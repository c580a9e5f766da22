// The row kernels over any set of vectors `V` that works on 32 values at a time. Included inside a
// target region by the one source of each instruction set, which defines V.
#pragma once

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
  alignas(64) std::byte values[kGroupBytes];

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

template <typename V, ValueType kType>
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

template <typename V, ValueType kType>
void SimdEncodeInt8(const SimdSource& from, const SimdCoded& to) {
  std::byte* codes = to.codes;
  for (uint32_t row = 0; row < from.rows; ++row, codes += from.size) {
    const std::byte* values = from.Row(row);
    const float largest = RowLargest<V, kType>(values, from.size);
    const uint16_t scale = largest < kSpanMin ? uint16_t{0} : FloatToBf16Above(largest / 127.0F);
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

template <typename V, ValueType kType>
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

template <typename V, ValueType kType>
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

template <typename V, ValueType kType>
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

// Writes the scale and the offset of 32 values and gives their codes, one a byte.
template <typename V, ValueType kType>
typename V::ByteCodes Int4Codes(const std::byte* values, size_t group, const SimdCoded& to) {
  uint16_t low_bits = 0;
  uint16_t high_bits = 0;
  V::template LowAndHigh<kType>(values, low_bits, high_bits);
  float low = ToFloat(kType, low_bits);
  low = FloatOf(BitsOf(low) & 0x7fffffffU) < kSpanMin ? 0.0F : low;
  const float span = ToFloat(kType, high_bits) - low;
  const uint16_t scale = span < kSpanMin ? uint16_t{0} : FloatToBf16(span * (1.0F / 15.0F));
  const float inverse = scale == 0 ? 0.0F : 1.0F / Bf16ToFloat(scale);
  StoreWord(to.scales, group, scale);
  StoreWord(to.offsets, group, FromFloat(kType, low));
  return V::ToNibbles(V::Scaled(V::Plus(V::template Load<kType>(values), -low), inverse));
}

template <typename V, ValueType kType>
void SimdEncodeInt4(const SimdSource& from, const SimdCoded& to) {
  std::byte* codes = to.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      V::StorePacked(codes, Int4Codes<V, kType>(values + i * kPageValueBytes, group++, to));
      codes += PackedBytes(kGroupValues);
    }
    if (i < from.size) {
      const Padded rest(values + i * kPageValueBytes, from.size - i);
      uint8_t padded[kGroupValues];
      V::StoreBytes(reinterpret_cast<std::byte*>(padded),
                    Int4Codes<V, kType>(rest.values, group++, to));
      RepackCodes(padded, from.size - i, codes);
      codes += PackedBytes(from.size - i);
    }
  }
}

template <typename V, ValueType kType>
void Int4Values(const std::byte* codes, size_t group, const SimdConstCoded& from,
                std::byte* values) {
  const float scale = Bf16ToFloat(LoadWord(from.scales, group));
  const float low = ToFloat(from.offset_type, LoadWord(from.offsets, group));
  V::template Store<kType>(values, V::Plus(V::Scaled(V::FromNibbles(codes), scale), low));
}

template <typename V, ValueType kType>
void SimdDecodeInt4(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  size_t group = 0;
  for (uint32_t row = 0; row < to.rows; ++row) {
    std::byte* values = to.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      Int4Values<V, kType>(codes, group++, from, values + i * kPageValueBytes);
      codes += PackedBytes(kGroupValues);
    }
    if (i < to.size) {
      std::byte spread[kScaleBlockValues];
      SpreadCodes(codes, to.size - i, spread);
      Padded rest;
      Int4Values<V, kType>(spread, group++, from, rest.values);
      std::memcpy(values + i * kPageValueBytes, rest.values, (to.size - i) * kPageValueBytes);
      codes += PackedBytes(to.size - i);
    }
  }
}

struct Fp4Scales {
  float tensor = 0;
  float to_scale = 0;
};

// Writes the scales of 32 values, or of the first `blocks` times 16, and gives their codes.
template <typename V, ValueType kType>
typename V::ByteCodes Fp4Codes(const std::byte* values, uint32_t blocks, const Fp4Scales& by,
                               std::byte* scales) {
  uint16_t largest[2] = {};
  V::LargestOfHalves(values, largest[0], largest[1]);
  float inverse[2] = {};
  for (uint32_t i = 0; i < blocks; ++i) {
    const uint8_t scale = FloatToE4m3(ToFloat(kType, Bounded(kType, largest[i])) * by.to_scale);
    inverse[i] = scale == 0 ? 0.0F : 1.0F / (E4m3ToFloat(scale) * by.tensor);
    scales[i] = static_cast<std::byte>(scale);
  }
  return V::ToE2m1(V::ScaledHalves(V::template Load<kType>(values), inverse[0], inverse[1]));
}

template <typename V, ValueType kType>
void SimdEncodeFp4(const SimdSource& from, const SimdCoded& to) {
  const Fp4Scales by = {to.statics[0], 1.0F / (6.0F * to.statics[0])};
  std::byte* codes = to.codes;
  std::byte* scales = to.scales;
  for (uint32_t row = 0; row < from.rows; ++row) {
    const std::byte* values = from.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= from.size; i += kGroupValues) {
      V::StorePacked(codes, Fp4Codes<V, kType>(values + i * kPageValueBytes, 2, by, scales));
      codes += PackedBytes(kGroupValues);
      scales += 2;
    }
    if (i < from.size) {
      // A copy of the first value must not count in a block that it does not belong to.
      const uint32_t count = from.size - i;
      const uint32_t blocks = ScaleBlocksOf(count);
      Padded rest(values + i * kPageValueBytes, count);
      std::memset(rest.values + count * kPageValueBytes, 0, kGroupBytes - count * kPageValueBytes);
      uint8_t padded[kGroupValues];
      V::StoreBytes(reinterpret_cast<std::byte*>(padded),
                    Fp4Codes<V, kType>(rest.values, blocks, by, scales));
      RepackCodes(padded, count, codes);
      codes += PackedBytes(count);
      scales += blocks;
    }
  }
}

template <typename V, ValueType kType>
void SimdDecodeFp4(const SimdConstCoded& from, const SimdTarget& to) {
  const std::byte* codes = from.codes;
  const std::byte* scales = from.scales;
  const float tensor = from.statics[0];
  for (uint32_t row = 0; row < to.rows; ++row) {
    std::byte* values = to.Row(row);
    uint32_t i = 0;
    for (; i + kGroupValues <= to.size; i += kGroupValues) {
      const float first = E4m3ToFloat(static_cast<uint8_t>(scales[0])) * tensor;
      const float second = E4m3ToFloat(static_cast<uint8_t>(scales[1])) * tensor;
      V::template Store<kType>(values + i * kPageValueBytes,
                               V::ScaledHalves(V::FromE2m1(codes), first, second));
      codes += PackedBytes(kGroupValues);
      scales += 2;
    }
    if (i < to.size) {
      const uint32_t count = to.size - i;
      const float first = E4m3ToFloat(static_cast<uint8_t>(scales[0])) * tensor;
      const float second =
          count > kScaleBlockValues ? E4m3ToFloat(static_cast<uint8_t>(scales[1])) * tensor : 0.0F;
      std::byte spread[kScaleBlockValues];
      SpreadCodes(codes, count, spread);
      Padded rest;
      V::template Store<kType>(rest.values, V::ScaledHalves(V::FromE2m1(spread), first, second));
      std::memcpy(values + i * kPageValueBytes, rest.values, count * kPageValueBytes);
      codes += PackedBytes(count);
      scales += ScaleBlocksOf(count);
    }
  }
}

// Both types of values, chosen once for a plane.
#define KVCAST_BOTH_TYPES(name, Kernel, From, To, typed)                    \
  template <typename V>                                                     \
  void name(const From& from, const To& to) {                               \
    typed.type == ValueType::kBf16 ? Kernel<V, ValueType::kBf16>(from, to)  \
                                   : Kernel<V, ValueType::kFp16>(from, to); \
  }
KVCAST_BOTH_TYPES(AnyEncodeInt8, SimdEncodeInt8, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeInt8, SimdDecodeInt8, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeFp8, SimdEncodeFp8, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeFp8, SimdDecodeFp8, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeInt4, SimdEncodeInt4, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeInt4, SimdDecodeInt4, SimdConstCoded, SimdTarget, to)
KVCAST_BOTH_TYPES(AnyEncodeFp4, SimdEncodeFp4, SimdSource, SimdCoded, from)
KVCAST_BOTH_TYPES(AnyDecodeFp4, SimdDecodeFp4, SimdConstCoded, SimdTarget, to)
#undef KVCAST_BOTH_TYPES

}  // namespace
}  // namespace kvcast
