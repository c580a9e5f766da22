#include "kvcast/codec/calibration.h"

#include <gtest/gtest.h>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"

namespace kvcast {
namespace {

const BlockShape& SampleShape() {
  static const BlockShape shape({{2, 8, 8}, {2, 8, 8}, {3, 16, 4}}, 4);
  return shape;
}

Calibration SampleCalibration(uint64_t seed = 1) {
  TestPages pages(SampleShape());
  pages.FillLikeACache(HalfType::kBf16, seed);
  Survey survey(SampleShape(), HalfType::kBf16);
  survey.Add(pages.Block());
  return Calibration::Of(survey);
}

TEST(Calibration, IsTheSameForTheSameSamples) {
  EXPECT_EQ(SampleCalibration(1).file(), SampleCalibration(1).file());
  EXPECT_NE(SampleCalibration(1).digest(), SampleCalibration(2).digest());
}

TEST(Calibration, IsReadAsItWasWritten) {
  const Calibration made = SampleCalibration();
  const Result<Calibration> read = Calibration::Parse(made.file());
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->digest(), made.digest());
  for (const Rung rung : {Rung::kInt8, Rung::kFp8, Rung::kFp4, Rung::kBf16Lossless}) {
    EXPECT_EQ(*read->FormatOf(rung, 128), *made.FormatOf(rung, 128));
  }
}

TEST(Calibration, RefusesEveryDamagedByteAndEveryCut) {
  const std::string file = SampleCalibration().file();
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(Calibration::Parse(damaged).ok()) << at;
    EXPECT_FALSE(Calibration::Parse(file.substr(0, at)).ok()) << at;
  }
}

// Only what depends on it says so: Int8 is the same whoever encodes it.
TEST(Calibration, IsNamedByTheTracksThatDependOnIt) {
  const Calibration calibration = SampleCalibration();
  EXPECT_EQ(calibration.FormatOf(Rung::kFp8, 4)->calibration, calibration.digest());
  EXPECT_EQ(calibration.FormatOf(Rung::kBf16Lossless, 4)->calibration, calibration.digest());
  EXPECT_FALSE(calibration.FormatOf(Rung::kInt8, 4)->calibration.has_value());
}

// A rank that publishes its heads uses the constants that the whole would.
TEST(Calibration, GivesASliceItsOwnConstants) {
  const Calibration calibration = SampleCalibration();
  const TrackFormat whole = *calibration.FormatOf(Rung::kFp8, 4);
  const Slice slice{IndexRange{1, 2}, IndexRange{1, 1}};
  const TrackFormat part = *calibration.FormatOf(Rung::kFp8, 4, slice);
  EXPECT_EQ(part.first_layer, 1u);
  EXPECT_EQ(part.first_head, 1u);
  const std::vector<float>& all = whole.scales;
  EXPECT_EQ(part.scales, (std::vector<float>{all[5], all[7], all[9], all[12]}));
  EXPECT_EQ(calibration.FormatOf(Rung::kBf16Lossless, 4, slice)->tables.size(), 4u);
  EXPECT_FALSE(calibration.FormatOf(Rung::kFp8, 4, {IndexRange{2, 3}, {}}).ok());
}

// Other text is louder than the samples were.
TEST(Calibration, LeavesRoomForValuesThatTheSamplesDidNotHave) {
  const BlockShape shape({{1, 16, 16}}, 1);
  const auto filled = [&](TestPages& pages, float value) {
    for (std::vector<std::byte>& buffer : pages.buffers()) {
      for (size_t i = 0; i + 1 < buffer.size(); i += kPageValueBytes) {
        const uint16_t bits = FromFloat(HalfType::kBf16, value);
        std::memcpy(buffer.data() + i, &bits, sizeof(bits));
      }
    }
  };
  TestPages sample(shape);
  filled(sample, 3.5F);
  Survey survey(shape, HalfType::kBf16);
  survey.Add(sample.Block());
  const Calibration calibration = Calibration::Of(survey);
  for (const Rung rung : {Rung::kFp8, Rung::kFp4}) {
    const auto codec = *Codec::Of(*calibration.FormatOf(rung, 1), HalfType::kBf16);
    TestPages loud(shape);
    TestPages back(shape);
    filled(loud, 6.0F);
    BlockView block = back.Block();
    ASSERT_TRUE(codec->Decode(codec->Encode(loud.Block(), 0), 0, block).ok());
    ForEachValue(loud.Block(), block, [&](uint16_t was, uint16_t is) {
      EXPECT_NEAR(ToFloat(HalfType::kBf16, is), ToFloat(HalfType::kBf16, was), 0.2F);
    });
  }
}

}  // namespace
}  // namespace kvcast
