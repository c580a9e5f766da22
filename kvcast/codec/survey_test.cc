#include "kvcast/codec/survey.h"

#include <gtest/gtest.h>

#include "kvcast/codec/codec.h"
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

// All of a head's values are 1.0625 times a power of two, which only some scales can hold exactly.
TEST(Survey, GivesFp8TheScaleThatErrsLeast) {
  const BlockShape shape({{1, 32, 32}}, 4);
  TestPages pages(shape);
  for (std::vector<std::byte>& buffer : pages.buffers()) {
    for (size_t i = 0; i + 1 < buffer.size(); i += kPageValueBytes) {
      const uint16_t bits = FromFloat(HalfType::kBf16, i % 8 == 0 ? 8.5F : -1.0625F);
      std::memcpy(buffer.data() + i, &bits, sizeof(bits));
    }
  }
  Survey survey(shape, HalfType::kBf16);
  survey.Add(pages.Block());
  const TrackFormat format = *survey.FormatOf(Rung::kFp8);
  ASSERT_EQ(format.scales.size(), 2u);
  const auto errors = [&](const TrackFormat& of) {
    TestPages back(shape);
    BlockView block = back.Block();
    const auto codec = *Codec::Of(of, HalfType::kBf16);
    for (uint32_t token = 0; token < shape.tokens(); ++token) {
      EXPECT_TRUE(codec->Decode(codec->Encode(pages.Block(), token), token, block).ok());
    }
    double sum = 0;
    ForEachValue(pages.Block(), block, [&](uint16_t was, uint16_t is) {
      const float error = ToFloat(HalfType::kBf16, was) - ToFloat(HalfType::kBf16, is);
      sum += double{error} * error;
    });
    return sum;
  };
  TrackFormat plain = format;
  plain.scales.assign(2, 0x1p-5F);
  EXPECT_LT(errors(format), errors(plain) / 4);
  EXPECT_LE(8.5F, kE4m3Max * format.scales[0]);  // Nothing is cut off.
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
