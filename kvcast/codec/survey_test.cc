#include "kvcast/codec/survey.h"

#include <gtest/gtest.h>

#include "kvcast/codec/coded_pages_test.h"

namespace kvcast {
namespace {

TEST(Survey, SharesSumUpWhateverTheCounts) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::array<uint64_t, 256> counts{};
    const uint64_t kinds = 1 + random.Below(256);
    for (uint64_t i = 0; i < kinds; ++i) {
      counts[random.Below(256)] += random.Below(uint64_t{1} << (1 + random.Below(30)));
    }
    EXPECT_TRUE(TableOf(counts).IsSound()) << round;
  }
  EXPECT_TRUE(TableOf({}).IsSound());
}

TEST(Survey, NamesTheMostFrequentExponents) {
  std::array<uint64_t, 256> counts{};
  counts[120] = 1000;
  counts[121] = 500;
  counts[3] = 1;
  const ExponentTable table = TableOf(counts);
  EXPECT_EQ(table.exponents[0], 120);
  EXPECT_EQ(table.exponents[1], 121);
  EXPECT_EQ(table.exponents[2], 3);
  EXPECT_GT(table.shares[0], table.shares[1]);
  EXPECT_GT(table.shares[1], 60);
}

// One rounding: with any other scale the quotient would be rounded before it is.
TEST(Survey, GivesFp8PowersOfTwo) {
  const BlockShape shape({{2, 8, 8}}, 4);
  TestPages pages(shape);
  pages.FillLikeACache(HalfType::kBf16, 5);
  Survey survey(shape, HalfType::kBf16);
  survey.Add(pages.Block());
  const TrackFormat format = *survey.FormatOf(Rung::kFp8);
  ASSERT_EQ(format.scales.size(), 4u);
  for (const float scale : format.scales) {
    EXPECT_EQ(BitsOf(scale) & 0x7fffffU, 0u);
  }
}

TEST(Survey, DoesNotDependOnTheOrderOfBlocks) {
  const BlockShape shape({{2, 8, 8}, {1, 16, 0}}, 4);
  TestPages a(shape);
  TestPages b(shape);
  a.FillLikeACache(HalfType::kFp16, 1);
  b.FillLikeACache(HalfType::kFp16, 2);
  Survey forward(shape, HalfType::kFp16);
  Survey backward(shape, HalfType::kFp16);
  forward.Add(a.Block());
  forward.Add(b.Block());
  backward.Add(b.Block());
  backward.Add(a.Block());
  for (const Rung rung : {Rung::kFp8, Rung::kFp4, Rung::kFp16Lossless}) {
    EXPECT_EQ(*forward.FormatOf(rung), *backward.FormatOf(rung));
  }
}

}  // namespace
}  // namespace kvcast
