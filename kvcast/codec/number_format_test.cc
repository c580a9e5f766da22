#include "kvcast/codec/number_format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kvcast/codec/scale_search.h"

namespace kvcast {
namespace {

// The nearest of a format's values by looking at all of them; of two as near, the even code.
template <typename Value>
uint32_t NearestByLooking(float wanted, uint32_t codes, Value value) {
  uint32_t best = 0;
  for (uint32_t code = 1; code < codes; ++code) {
    const double now = std::abs(double{value(code)} - wanted);
    const double before = std::abs(double{value(best)} - wanted);
    if (now < before || (now == before && code % 2 == 0)) {
      best = code;
    }
  }
  return best;
}

TEST(NumberFormat, EveryHalfSurvivesAFloat) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    for (const uint32_t sign : {0U, 0x8000U}) {
      const auto half = static_cast<uint16_t>(bits | sign);
      ASSERT_EQ(FloatToHalf(HalfToFloat(half)), half);
      ASSERT_EQ(HalfToFloat(half),
                (sign != 0 ? -1.0F : 1.0F) *
                    (bits < 0x400 ? std::ldexp(static_cast<float>(bits), -24)
                                  : std::ldexp(static_cast<float>(1024 + bits % 1024),
                                               static_cast<int>(bits / 1024) - 25)));
    }
  }
}

TEST(NumberFormat, HalvesRoundToTheNearestAndSaturate) {
  EXPECT_EQ(FloatToHalf(1e9F), kHalfLargest);
  EXPECT_EQ(FloatToHalf(-1e9F), kHalfLargest | kSignBit);
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3c00);  // A tie, to the even one below.
  EXPECT_EQ(FloatToHalf(1.0F + 0x3p-11F), 0x3c02);  // A tie, to the even one above.
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0);  // Half of the least.
  EXPECT_EQ(FloatToHalf(0x1.8p-25F), 1);
}

TEST(NumberFormat, E4m3IsTheNearestOfAll) {
  const auto value = [](uint32_t code) { return E4m3ToFloat(static_cast<uint8_t>(code)); };
  EXPECT_EQ(value(0x7e), 448.0F);
  EXPECT_EQ(value(0x01), 0x1p-9F);
  EXPECT_EQ(value(0x08), 0x1p-6F);
  for (uint32_t bits = BitsOf(0x1p-12F); bits < BitsOf(1000.0F); bits += 0x7f35) {
    const float wanted = FloatOf(bits);
    ASSERT_EQ(FloatToE4m3(wanted), NearestByLooking(wanted, 0x7f, value)) << wanted;
    ASSERT_EQ(FloatToE4m3(-wanted), FloatToE4m3(wanted) | 0x80);
  }
  for (uint32_t code = 0; code < 0x7e; ++code) {  // Ties are where it goes wrong.
    const float tie = (value(code) + value(code + 1)) / 2;
    ASSERT_EQ(FloatToE4m3(tie), code + code % 2);
  }
}

TEST(NumberFormat, E2m1IsTheNearestOfAllAndTiesGoUp) {
  const auto value = [](uint32_t code) { return kE2m1[code]; };
  for (uint32_t quarters = 0; quarters < 32; ++quarters) {
    const float wanted = static_cast<float>(quarters) / 4;
    ASSERT_EQ(kE2m1OfQuarters[quarters], NearestByLooking(wanted + 0.1F, 8, value)) << wanted;
  }
  for (uint32_t code = 0; code < 7; ++code) {
    const float tie = (kE2m1[code] + kE2m1[code + 1]) / 2;
    ASSERT_EQ(kE2m1OfQuarters[static_cast<uint32_t>(tie * 4)], code + 1);
  }
}

TEST(NumberFormat, FoursScaleIsTheNearestToOneAndAHalfOfSixs) {
  for (uint8_t six = kE4m3FirstNormal; HasFour(six); ++six) {
    EXPECT_EQ(FourOfSix(six), FloatToE4m3(E4m3ToFloat(six) * 1.5F)) << uint32_t{six};
  }
  EXPECT_FALSE(HasFour(kE4m3FirstNormal - 1));
  EXPECT_FALSE(HasFour(kE4m3LastCode));
}

TEST(NumberFormat, Fp4sChoicesAreTheNearestByBothScales) {
  const auto by_six = [](uint32_t code) { return kE2m1[code]; };
  const auto by_four = [](uint32_t code) { return kE2m1[code] * 1.5F; };
  for (uint32_t part = 0; part < kFp4Choices.size(); ++part) {
    const float middle = (static_cast<float>(part) + 0.5F) / kFp4Parts;
    ASSERT_EQ(kFp4Choices[part].six, NearestByLooking(middle, 8, by_six)) << part;
    ASSERT_EQ(kFp4Choices[part].four, NearestByLooking(middle, 8, by_four)) << part;
    const float six = middle - by_six(kFp4Choices[part].six);
    const float four = middle - by_four(kFp4Choices[part].four);
    ASSERT_EQ(static_cast<float>(kFp4Choices[part].better), 32 * (six * six - four * four)) << part;
  }
}

TEST(NumberFormat, WhatIsNotFiniteCountsAsTheLargest) {
  EXPECT_EQ(Bounded(HalfType::kBf16, 0x7f80), kBf16Largest);
  EXPECT_EQ(Bounded(HalfType::kBf16, 0xffc1), kBf16Largest | kSignBit);
  EXPECT_EQ(Bounded(HalfType::kFp16, 0xfc00), kHalfLargest | kSignBit);
  EXPECT_EQ(Bounded(HalfType::kBf16, 0x3f80), 0x3f80);
}

}  // namespace
}  // namespace kvcast
