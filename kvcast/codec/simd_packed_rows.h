// The row kernels of the rungs with two codes a byte, and all of them for both types of values.
// Included inside a target region, as simd_rows.h is.
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
