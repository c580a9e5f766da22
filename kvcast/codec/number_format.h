#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kvcast/codec/half_type.h"

namespace kvcast {

// Small floating-point formats by integer arithmetic, one value at a time: what every other kernel
// must agree with, bit by bit.
//
// Nothing here depends on how a processor treats denormals or fuses operations: codecs keep scales
// within kScaleMin..kScaleMax, so that no FP32 number that matters is denormal or infinite.
//
// All functions round to the nearest, ties to even, unless they say otherwise.

inline constexpr uint16_t kSignBit = 0x8000;
inline constexpr uint16_t kMagnitude = 0x7fff;
// The largest magnitudes that codecs take from pages; whatever is beyond, infinity and NaN
// included, counts as this with its sign. 2^120 as BF16, 65,504 as FP16.
inline constexpr uint16_t kBf16Largest = 0x7b80;
inline constexpr uint16_t kHalfLargest = 0x7bff;
// The least scale that a codec writes or accepts beside 0, 2^-110, and the most, 2^120, as BF16.
inline constexpr uint16_t kBf16ScaleMin = 0x0880;
inline constexpr uint16_t kBf16ScaleMax = kBf16Largest;
// Values that span less than this count as equal: 2^-100.
inline constexpr float kSpanMin = 0x1p-100F;

inline uint32_t BitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline float FloatOf(uint32_t bits) { return std::bit_cast<float>(bits); }

inline float Bf16ToFloat(uint16_t bits) { return FloatOf(uint32_t{bits} << 16); }

// REQUIRES: finite, and below 2^127.
inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = BitsOf(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// REQUIRES: |value| < 2^22.
inline int32_t RoundToInt(float value) {
  constexpr float kMagic = 0x1.8p23F;  // Beyond it a float's last place is 1.
  return static_cast<int32_t>(BitsOf(value + kMagic) - BitsOf(kMagic));
}

inline float HalfToFloat(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t magnitude = bits & 0x7fffU;
  if (magnitude < 0x0400) {  // Denormal as a half, and never as a float.
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return FloatOf(BitsOf(value) | sign);
  }
  return FloatOf(sign | ((magnitude << 13) + (112U << 23)));
}

// Saturates at 65,504. REQUIRES: not NaN.
inline uint16_t FloatToHalf(float value) {
  const uint32_t sign = (BitsOf(value) >> 16) & 0x8000U;
  const float magnitude = std::min(FloatOf(BitsOf(value) & 0x7fffffffU), 65504.0F);
  if (magnitude < 0x1p-14F) {
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(RoundToInt(magnitude * 0x1p24F)));
  }
  const uint32_t bits = BitsOf(magnitude);
  return static_cast<uint16_t>(sign | ((bits + 0xfff + ((bits >> 13) & 1) - (112U << 23)) >> 13));
}

// A value of a page, finite and bounded.
inline uint16_t Bounded(HalfType type, uint16_t bits) {
  const uint16_t largest = type == HalfType::kBf16 ? kBf16Largest : kHalfLargest;
  return static_cast<uint16_t>((bits & kSignBit) | std::min<uint16_t>(bits & kMagnitude, largest));
}
// REQUIRES: Bounded.
inline float ToFloat(HalfType type, uint16_t bits) {
  return type == HalfType::kBf16 ? Bf16ToFloat(bits) : HalfToFloat(bits);
}
inline uint16_t FromFloat(HalfType type, float value) {
  return type == HalfType::kBf16 ? FloatToBf16(value) : FloatToHalf(value);
}

// E4M3: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity. What the format keeps for
// NaN, 0x7f, is never written.
inline constexpr float kE4m3Max = 448.0F;
inline constexpr uint8_t kE4m3LastCode = 0x7e;
inline constexpr uint8_t kE4m3FirstNormal = 8;

// Saturates. REQUIRES: not NaN.
inline uint8_t FloatToE4m3(float value) {
  const uint32_t sign = (BitsOf(value) >> 24) & 0x80U;
  const float magnitude = std::min(FloatOf(BitsOf(value) & 0x7fffffffU), kE4m3Max);
  if (magnitude < 0x1p-6F) {
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(RoundToInt(magnitude * 0x1p9F)));
  }
  const uint32_t bits = BitsOf(magnitude);
  return static_cast<uint8_t>(sign | ((bits + 0x7ffff + ((bits >> 20) & 1) - (120U << 23)) >> 20));
}

// The code 0x7f counts as 480.
inline float E4m3ToFloat(uint8_t code) {
  return HalfToFloat(static_cast<uint16_t>((code & 0x80U) << 8 | (code & 0x7fU) << 7)) * 0x1p8F;
}

// E2M1: sign and one of these magnitudes.
inline constexpr float kE2m1[8] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
// The code of a magnitude by its whole quarters: the nearest, ties to the larger.
inline constexpr uint8_t kE2m1OfQuarters[32] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6,
                                                6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};

}  // namespace kvcast
