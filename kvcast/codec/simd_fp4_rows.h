// The row kernels of FP4, and those of all rungs for both types of values. Included inside a target
// region, as simd_rows.h is.
#pragma once

#include "kvcast/codec/simd_packed_rows.h"

namespace kvcast {
namespace {

struct Fp4Scales {
  float tensor = 0;
  float to_scale = 0;
};

// Writes the scales of 32 values, or of the first `blocks` times 16, and gives their codes.
template <typename V, HalfType kType>
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

template <typename V, HalfType kType>
void SimdEncodeFp4Whole(const SimdSource& from, const SimdCoded& to) {
  constexpr uint32_t kGroups = GroupBatch::kMost / 2;  // Of two blocks.
  const float tensor = to.statics[0];
  const float to_scale = 1.0F / (6.0F * tensor);
  const uint32_t groups = from.rows * (from.size / kGroupValues);
  for (uint32_t first = 0; first < groups; first += kGroups) {
    GroupBatch batch(from, first, kGroups);
    for (uint32_t i = 0; i < batch.count; ++i) {
      uint16_t largest[2] = {};
      V::LargestOfHalves(batch.values[i], largest[0], largest[1]);
      std::memcpy(batch.words[0] + i * sizeof(largest), largest, sizeof(largest));
    }
    V::StoreBytes(batch.words[1],
                  V::ToE4m3(V::Scaled(V::template Load<kType>(batch.words[0]), to_scale)));
    std::memcpy(to.scales + size_t{first} * 2, batch.words[1], size_t{batch.count} * 2);
    const typename V::Floats scales = V::Scaled(V::FromE4m3AsHalf(batch.words[1]), 0x1p8F);
    V::StoreInversesOrZeros(batch.inverses, V::Scaled(scales, tensor));
    for (uint32_t i = 0; i < batch.count; ++i) {
      V::StorePacked(to.codes + size_t{first + i} * PackedBytes(kGroupValues),
                     V::ToE2m1(V::ScaledHalves(V::template Load<kType>(batch.values[i]),
                                               batch.inverses[size_t{i} * 2],
                                               batch.inverses[size_t{i} * 2 + 1])));
    }
  }
}

template <typename V, HalfType kType>
void SimdEncodeFp4(const SimdSource& from, const SimdCoded& to) {
  if (from.size % kGroupValues == 0) {
    SimdEncodeFp4Whole<V, kType>(from, to);
    return;
  }
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

template <typename V, HalfType kType>
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
#define KVCAST_BOTH_TYPES(name, Kernel, From, To, typed)                  \
  template <typename V>                                                   \
  void name(const From& from, const To& to) {                             \
    typed.type == HalfType::kBf16 ? Kernel<V, HalfType::kBf16>(from, to)  \
                                  : Kernel<V, HalfType::kFp16>(from, to); \
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
