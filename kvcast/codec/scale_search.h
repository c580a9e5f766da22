// How encoders look for the scale that errs least, where they are told to take the time. All sums
// are of whole numbers below 2^24, so that their order does not matter and every kernel finds the
// same.
#pragma once

#include <algorithm>
#include <array>

#include "kvcast/codec/kernels.h"
#include "kvcast/codec/number_format.h"

namespace kvcast {

// FP4: a block's largest value may become 6 or 4. Behind 4 the steps of E2M1 are twice as wide, so
// that 4 is better where many values are nearly as large as the largest. Both are judged by where
// values lie in eighths of six's scale, which is all that codes depend on: four's scale is taken
// for one and a half of six's, which it nearly is.
inline constexpr float kFp4Parts = 8.0F;
inline constexpr int32_t kFp4PartsMax = 63;
struct Fp4Choice {
  uint8_t six = 0;    // The code with six's scale,
  uint8_t four = 0;   // and with four's.
  int8_t better = 0;  // By how much four errs less: squares, in units of 1/32 of six's scale's.
};
inline constexpr std::array<Fp4Choice, kFp4PartsMax + 1> kFp4Choices = [] {
  std::array<Fp4Choice, kFp4PartsMax + 1> choices{};
  for (uint32_t part = 0; part < choices.size(); ++part) {
    const uint8_t six = kE2m1OfQuarters[std::min(part / 2, 31U)];
    const uint8_t four = kE2m1OfQuarters[part / 3];
    // From the middle of the eighth, in sixteenths; both differences are odd.
    const int32_t off_six =
        static_cast<int32_t>(2 * part + 1) - static_cast<int32_t>(kE2m1[six] * 16);
    const int32_t off_four =
        static_cast<int32_t>(2 * part + 1) - static_cast<int32_t>(kE2m1[four] * 24);
    choices[part] = {six, four, static_cast<int8_t>((off_six * off_six - off_four * off_four) / 8)};
  }
  return choices;
}();
// Added to `better`, makes a byte without a sign of it.
inline constexpr int32_t kFp4Bias = 32;
// The code of E4M3 nearest to one and a half times another; beyond the last where there is none.
inline constexpr std::array<uint8_t, 8> kFp4FourAbove = {4, 5, 5, 5, 5, 5, 4, 4};
inline uint8_t FourOfSix(uint8_t six) {
  return static_cast<uint8_t>(six + kFp4FourAbove[six % kFp4FourAbove.size()]);
}
// Where there is a choice: below, and where they saturate, scales are too coarse.
inline bool HasFour(uint8_t six) {
  return six >= kE4m3FirstNormal && FourOfSix(six) < kE4m3LastCode;
}

// Int4: values as they would be coded, in steps of 1/16 (w), and their codes (q).
inline constexpr float kInt4Steps = 16.0F;
inline constexpr uint32_t kInt4StepBits = 4;
inline uint8_t Int4CodeOf(uint32_t steps) {
  return static_cast<uint8_t>((steps + (1U << (kInt4StepBits - 1))) >> kInt4StepBits);
}
struct Int4Sums {
  float w = 0;
  float wq = 0;
  float q = 0;
  float qq = 0;

  void Add(uint32_t steps, uint32_t code) {
    w += static_cast<float>(steps);
    wq += static_cast<float>(steps * code);
    q += static_cast<float>(code);
    qq += static_cast<float>(code * code);
  }
};

// Where a fit is tried. Outside there is nothing to gain, and numbers come near that overflow or
// that processors treat differently.
inline constexpr uint16_t kInt4FitLeast = 0x1280;  // 2^-90
inline constexpr uint16_t kInt4FitMost = 0x6c80;   // 2^90
inline bool CanFitInt4(uint16_t scale_bits) {
  return scale_bits >= kInt4FitLeast && scale_bits <= kInt4FitMost;
}

// The straight line through a group's values over their codes, by least squares. Codes stay.
// REQUIRES: CanFitInt4, and codes that reach from 0 to 15.
inline void FitInt4(HalfType type, uint32_t count, const Int4Sums& sums, uint16_t& low_bits,
                    uint16_t& scale_bits) {
  const auto n = static_cast<float>(count);
  const float rise = n * sums.wq - sums.w * sums.q;
  const float run = n * sums.qq - sums.q * sums.q;
  const float slope = rise / run;
  const float below = slope * sums.q;
  const float start = (sums.w - below) / n;
  const float scale = Bf16ToFloat(scale_bits);
  const float shift = scale * (start * (1.0F / kInt4Steps));
  const float low = ToFloat(type, low_bits) + shift;
  low_bits = FromFloat(type, FloatOf(BitsOf(low) & 0x7fffffffU) < kSpanMin ? 0.0F : low);
  scale_bits = FloatToBf16(scale * (slope * (1.0F / kInt4Steps)));
}

}  // namespace kvcast
