// How encoders look for the scale that errs least, where they are told to take the time. All sums
// are of whole numbers below 2^24, so that their order does not matter and every kernel finds the
// same.
#pragma once

#include "kvcast/codec/kernels.h"
#include "kvcast/codec/number_format.h"

namespace kvcast {

// The nearest whole number, ties to even. REQUIRES: |value| < 2^22.
inline float WholeOf(float value) {
  constexpr float kMagic = 0x1.8p23F;
  const float shifted = value + kMagic;
  return shifted - kMagic;
}

// FP4: a block's largest value may become 6 or 4. Behind 4 the steps of E2M1 are twice as wide, so
// that 4 is better where many values are nearly as large as the largest. Errors are squares, of
// steps of 1/1024 of the scale, times the scale's square.
inline constexpr float kFp4ErrorSteps = 1024.0F;
inline int FourIsBetter(uint8_t six, float six_error, uint8_t four, float four_error) {
  // Below, and where they saturate, scales are too coarse. Nobody could foretell it: no branches.
  return static_cast<int>(six >= kE4m3FirstNormal) & static_cast<int>(four < kE4m3LastCode) &
         static_cast<int>(four_error < six_error);
}

// Int4: values as they would be coded, u, in steps of 1/64, and their codes q.
inline constexpr float kInt4Steps = 64.0F;
struct Int4Sums {
  float u = 0;
  float uq = 0;
  float q = 0;
  float qq = 0;

  void Add(float coded) {
    const float code = WholeOf(coded);
    const float steps = WholeOf(coded * kInt4Steps);
    u += steps;
    uq += steps * code;
    q += code;
    qq += code * code;
  }
};

// Where a fit is tried. Outside there is nothing to gain, and numbers come near that overflow or
// that processors treat differently.
inline bool CanFitInt4(uint16_t scale_bits) {
  constexpr uint16_t kLeast = 0x1280;  // 2^-90
  constexpr uint16_t kMost = 0x6c80;   // 2^90
  return scale_bits >= kLeast && scale_bits <= kMost;
}

// The straight line through a group's values over their codes, by least squares.
// REQUIRES: CanFitInt4, and codes that reach from 0 to 15.
inline void FitInt4(HalfType type, uint32_t count, const Int4Sums& sums, uint16_t& low_bits,
                    uint16_t& scale_bits) {
  const auto n = static_cast<float>(count);
  const float rise = n * sums.uq - sums.u * sums.q;
  const float run = n * sums.qq - sums.q * sums.q;
  const float slope = rise / run;
  const float below = slope * sums.q;
  const float start = (sums.u - below) / n;
  const float scale = Bf16ToFloat(scale_bits);
  const float shift = scale * (start * (1.0F / kInt4Steps));
  const float low = ToFloat(type, low_bits) + shift;
  low_bits = FromFloat(type, FloatOf(BitsOf(low) & 0x7fffffffU) < kSpanMin ? 0.0F : low);
  scale_bits = FloatToBf16(scale * (slope * (1.0F / kInt4Steps)));
}

}  // namespace kvcast
