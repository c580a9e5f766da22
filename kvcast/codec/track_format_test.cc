#include "kvcast/codec/track_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "kvcast/base/bytes.h"
#include "kvcast/base/hex.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

BlockShape FormatShape() { return BlockShape({{2, 4, 4}, {2, 4, 4}, {1, 6, 0}}, 3); }

TEST(TrackFormat, SurvivesItsBytesAtEveryRung) {
  for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
    const Survey survey(FormatShape(), type, {IndexRange{1, 3}, std::nullopt});
    for (const Rung rung : {Rung::kFp16, Rung::kBf16, Rung::kFp8, Rung::kInt8, Rung::kFp4,
                            Rung::kInt4, Rung::kBf16Lossless, Rung::kFp16Lossless}) {
      TrackFormat format = *survey.FormatOf(rung);
      EXPECT_EQ(format.first_layer, 1u);
      EXPECT_EQ(*TrackFormat::Parse(format.Encode()), format);
      format.calibration = Sha256::Of("calibration");
      EXPECT_EQ(*TrackFormat::Parse(format.Encode()), format);
    }
  }
}

// The bytes are a contract with other versions and languages.
TEST(TrackFormat, IsWrittenAsTheContractHasIt) {
  TrackFormat format = TrackFormat::Of(Rung::kFp4, HalfType::kBf16, FormatShape());
  format.scales = {1.0F, 2.0F, 0.5F, 1.0F, 1.0F};
  EXPECT_EQ(ToHex(AsBytes(format.Encode())),
            "01040002"
            "00000301"
            "02"
            "02020404"
            "01010600"
            "0000803f"
            "00000040"
            "0000003f"
            "0000803f"
            "0000803f");
}

TEST(TrackFormat, RefusesWhatNoCodecCouldWorkWith) {
  const Survey survey(FormatShape(), HalfType::kBf16);
  const TrackFormat good = *survey.FormatOf(Rung::kFp8);
  ASSERT_TRUE(good.Check().ok());
  const auto refused = [&](auto change) {
    TrackFormat bad = good;
    change(bad);
    return !bad.Check().ok();
  };
  EXPECT_TRUE(refused([](TrackFormat& f) { f.layers.clear(); }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.layers[0].kv_heads = 0; }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.block_tokens = 0; }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.run_tokens = 4; }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.scales.pop_back(); }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.scales[1] = 0.0F; }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.scales[1] = -1.0F; }));
  EXPECT_TRUE(
      refused([](TrackFormat& f) { f.scales[1] = std::numeric_limits<float>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](TrackFormat& f) { f.tables.emplace_back(); }));
  TrackFormat lossless = *survey.FormatOf(Rung::kBf16Lossless);
  ++lossless.tables[0].shares[0];
  EXPECT_FALSE(lossless.Check().ok());
}

TEST(TrackFormat, RefusesBytesThatEncodeDoesNotWrite) {
  const Survey survey(FormatShape(), HalfType::kBf16);
  const std::string good = survey.FormatOf(Rung::kFp8)->Encode();
  ASSERT_TRUE(TrackFormat::Parse(good).ok());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(TrackFormat::Parse(good.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(TrackFormat::Parse(good + "x").ok());
  std::string parts = good;
  parts[3] = static_cast<char>(parts[3] | 0x40);
  EXPECT_FALSE(TrackFormat::Parse(parts).ok());
}

}  // namespace
}  // namespace kvcast
