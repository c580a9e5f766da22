#include "kvcast/codec/exponent_survey.h"

#include <gtest/gtest.h>

#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

// What is looked at by jobs is looked at in parts, and by somebody else in one piece.
TEST(ExponentSurvey, FindsInPartsWhatASurveyFindsOfTheWhole) {
  const BlockShape shape({{2, 8, 5}, {1, 16, 0}}, 4);
  for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
    Survey whole(shape, type);
    ExponentSurvey parts(shape, type);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      TestPages pages(shape);
      if (seed % 2 == 0) {
        pages.FillWithNoise(seed);
      } else {
        pages.FillLikeACache(type, seed);
      }
      whole.Add(pages.Block());
      for (size_t layer = shape.layers().size(); layer-- > 0;) {
        parts.Add(layer, CountExponents(pages.Block(), type, layer, 3, 1));
        parts.Add(layer, CountExponents(pages.Block(), type, layer, 0, 3));
      }
    }
    const Rung rung = type == HalfType::kBf16 ? Rung::kBf16Lossless : Rung::kFp16Lossless;
    EXPECT_EQ(*parts.FormatOf(rung), *whole.FormatOf(rung));
  }
}

TEST(ExponentSurvey, LooksAtASliceOfHeads) {
  const BlockShape shape({{4, 8, 8}, {4, 8, 8}}, 4);
  const Slice slice{IndexRange{1, 1}, IndexRange{2, 2}};
  TestPages pages(shape);
  pages.FillLikeACache(HalfType::kBf16, 5);
  const BlockView block = pages.Block(slice);
  Survey whole(block.shape(), HalfType::kBf16, slice);
  whole.Add(block);
  ExponentSurvey parts(block.shape(), HalfType::kBf16, slice);
  parts.Add(0, CountExponents(block, HalfType::kBf16, 0, 0, 4));
  EXPECT_EQ(*parts.FormatOf(Rung::kBf16Lossless), *whole.FormatOf(Rung::kBf16Lossless));
}

}  // namespace
}  // namespace kvcast
