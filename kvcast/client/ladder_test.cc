#include "kvcast/client/ladder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kvcast/client/client_pair_test.h"
#include "kvcast/codec/survey.h"
#include "kvcast/kv/track_properties.h"

namespace kvcast {
namespace {

std::shared_ptr<const Calibration> CalibrationOf(const EngineMemory& memory) {
  Survey survey(TestShape(), HalfType::kBf16);
  survey.Add(memory.Pages().Block(0));
  return std::make_shared<const Calibration>(Calibration::Of(survey));
}

float Bf16At(const std::string& values, size_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, values.data() + index * 2, 2);
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// The largest difference between the two, of all values of a block.
float ErrorOf(const EngineMemory& target, const EngineMemory& source, size_t block) {
  const std::string got = target.Block(block);
  const std::string wanted = source.Block(block);
  float largest = 0;
  for (size_t i = 0; i < wanted.size() / 2; ++i) {
    largest = std::max(largest, std::abs(Bf16At(got, i) - Bf16At(wanted, i)));
  }
  return largest;
}

class LadderTest : public testing::Test {
 protected:
  LadderTest() { source_.Soften(); }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  EngineMemory source_{kBlocks, 1};
  EngineMemory target_{kBlocks, 2};
};

TEST_F(LadderTest, PublishesAndLoadsAtARung) {
  struct Case {
    Rung rung;
    float error;
  };
  const Ladder ladder(HalfType::kBf16, CalibrationOf(source_));
  for (const Case& each :
       {Case{Rung::kBf16, 0}, Case{Rung::kBf16Lossless, 0}, Case{Rung::kInt8, 0.02F},
        Case{Rung::kFp8, 0.15F}, Case{Rung::kInt4, 0.2F}, Case{Rung::kFp4, 0.6F}}) {
    SCOPED_TRACE(ToString(each.rung));
    ClientPair pair({}, {}, {TestKind(each.rung), ladder});
    pair.Run();
    const OperationId publish = pair.Publish(source_, blocks_);
    pair.Run();
    ASSERT_TRUE(pair.Published(publish));
    EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
    EngineMemory target(kBlocks, 2);
    const OperationId load = pair.Load(target, blocks_);
    pair.Run();
    ASSERT_TRUE(pair.Loaded(load));
    ASSERT_EQ(pair.Loaded(load)->loaded(), kBlocks) << pair.Loaded(load)->reason;
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_LE(ErrorOf(target, source_, block), each.error);
    }
  }
}

TEST_F(LadderTest, KeepsRungsOfOneClientApart) {
  ClientPair pair({}, {}, {TestKind(Rung::kBf16Lossless)});
  pair.Run();
  (void)*pair.client().Publish(blocks_, source_.Pages(), {.rung = Rung::kInt8}, pair.now());
  pair.Run();
  EXPECT_TRUE(pair.client().Find(blocks_).empty());
  const CacheMatch match = pair.client().Find(blocks_, 0, std::vector{Rung::kInt8});
  EXPECT_EQ(match.block_count(), kBlocks);
  EXPECT_EQ(match.offers(0).front().rung, Rung::kInt8);
}

TEST_F(LadderTest, OffersWhatIsAsTrueAsTheEngineWants) {
  const Ladder plain(HalfType::kBf16);  // Without a calibration there is no AC and no KTC.
  EXPECT_EQ(plain.LoadedDownTo(Rung::kBf16), (std::vector{Rung::kBf16Lossless, Rung::kBf16}));
  EXPECT_EQ(plain.LoadedDownTo(Rung::kFp8),
            (std::vector{Rung::kBf16Lossless, Rung::kBf16, Rung::kInt8, Rung::kFp8}));
  EXPECT_EQ(plain.LoadedDownTo(Rung::kKtcCoarse).back(), Rung::kFp4);
}

TEST_F(LadderTest, OffersNothingTruerThanTheEngineCanUse) {
  const Ladder plain(HalfType::kBf16);
  EXPECT_EQ(plain.LoadedBetween(Rung::kInt8, Rung::kFp8), (std::vector{Rung::kInt8, Rung::kFp8}));
  EXPECT_EQ(plain.LoadedBetween(Rung::kBf16, Rung::kBf16), std::vector{Rung::kBf16});
  EXPECT_TRUE(plain.LoadedBetween(Rung::kKtcFine, Rung::kKtcFine).empty());
  EXPECT_TRUE(plain.LoadedBetween(Rung::kFp8, Rung::kInt8).empty());
}

// An object is known by its first token, so a run that begins before what is wanted is not sent.
TEST_F(LadderTest, SendsNoRunThatBeginsBeforeWhatIsWanted) {
  NodeScript script;
  using Filter = moqt::SubscriptionFilter;
  script.publish_filter = Filter{Filter::Type::kAbsoluteStart, {1, 1}};
  ClientPair pair({}, script, {TestKind(Rung::kBf16Lossless)});
  pair.Run();
  const OperationId publish = pair.Publish(source_, blocks_);
  pair.Run();
  ASSERT_EQ(pair.node().tracks().size(), 1u);
  const ScriptedNode::Groups& groups = pair.node().tracks().begin()->second;
  EXPECT_FALSE(groups.contains(0));
  EXPECT_FALSE(groups.contains(1));  // All of it is one run.
  EXPECT_EQ(groups.size(), kBlocks - 2);
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks - 2);
}

TEST_F(LadderTest, LoadsNothingThatDoesNotSayHowItIsCoded) {
  NodeScript script;
  script.tells_nothing = true;
  for (const Rung rung : {Rung::kBf16Lossless, Rung::kBf16}) {
    ClientPair pair({}, script, {TestKind(rung)});
    pair.Run();
    (void)pair.Publish(source_, blocks_);
    pair.Run();
    const OperationId load = pair.Load(target_, blocks_);
    pair.Run();
    ASSERT_TRUE(pair.Loaded(load));
    const bool plain = rung == Rung::kBf16;  // Its objects need no constants.
    EXPECT_EQ(pair.Loaded(load)->loaded(), plain ? kBlocks : 0);
    EXPECT_EQ(pair.Loaded(load)->outcomes[0], plain ? BlockOutcome::kLoaded : BlockOutcome::kWrong);
  }
}

TEST_F(LadderTest, SaysWhatItCannotPublish) {
  const Ladder bare(HalfType::kBf16);
  EXPECT_EQ(bare.Encoder(Rung::kFp8, source_.Pages()).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(bare.Encoder(Rung::kKtcMedium, source_.Pages()).error().code(),
            ErrorCode::kUnsupported);
  EXPECT_EQ(bare.Encoder(Rung::kFp16Lossless, source_.Pages()).error().code(),
            ErrorCode::kUnsupported);
  EXPECT_TRUE(bare.Loads(Rung::kFp8));
  EXPECT_FALSE(bare.Publishes(Rung::kFp8));
  EXPECT_FALSE(bare.Loads(Rung::kAc));
  const Ladder of_halves(HalfType::kFp16, CalibrationOf(source_));
  EXPECT_EQ(of_halves.Encoder(Rung::kFp8, source_.Pages()).error().code(), ErrorCode::kMismatch);
}

TEST_F(LadderTest, DecodesOnlyWhatFitsThePages) {
  const Ladder ladder(HalfType::kBf16);
  const PromptPages pages = target_.Pages();
  const auto decoder = [&](const TrackFormat& format) {
    return ladder.Decoder(Rung::kInt8, WithFormat({}, format.Encode()), pages);
  };
  TrackFormat format = TrackFormat::Of(Rung::kInt8, HalfType::kBf16, TestShape());
  ASSERT_TRUE(decoder(format).ok());
  format.rung = Rung::kInt4;
  EXPECT_EQ(decoder(format).error().code(), ErrorCode::kMismatch);
  format = TrackFormat::Of(Rung::kInt8, HalfType::kBf16, TestShape());
  format.block_tokens *= 2;
  EXPECT_EQ(decoder(format).error().code(), ErrorCode::kMismatch);
  format = TrackFormat::Of(Rung::kInt8, HalfType::kBf16, TestShape());
  format.first_head = 1;
  EXPECT_EQ(decoder(format).error().code(), ErrorCode::kMismatch);
  EXPECT_FALSE(ladder.Decoder(Rung::kInt8, WithFormat({}, "nonsense"), pages).ok());
}

}  // namespace
}  // namespace kvcast
