// What a publication that is to be durable leaves out, and what it does not.
#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PublishDurably : public testing::Test {
 protected:
  static TrackName AcksOf(const TrackName& track) { return *AckTrackOf(track.space()); }
  // Of those that were held before: what the node says when it is asked how durable they are.
  void HoldAs(ClientPair& pair, size_t first, size_t count, uint8_t generation,
              std::optional<Durability> level) {
    const TrackName track = pair.node().Hold(memory_, blocks_, first, count, generation);
    pair.node().script.recalled[AcksOf(track)].push_back({level, "BF16", first, first + count - 1});
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory memory_{kBlocks, /*seed=*/1};
};

TEST_F(PublishDurably, LeavesOutWhatTheNodeSaysIsAsDurable) {
  ClientPair pair;
  HoldAs(pair, 0, 2, /*generation=*/1, Durability::kBucket);
  HoldAs(pair, 2, 1, /*generation=*/2, Durability::kMemory);
  HoldAs(pair, 3, 1, /*generation=*/3, std::nullopt);
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.node().has_ack_follower());
  EXPECT_FALSE(pair.Published(publish).has_value());
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 2, 5}});
  pair.Run();
  const std::optional<PublishReport> report = pair.Published(publish);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->fault.has_value()) << report->reason;
  EXPECT_EQ(report->skipped, 2u);
  EXPECT_EQ(report->sent, 4u);
  EXPECT_EQ(report->durable, 4u);
  EXPECT_EQ(report->reached, Durability::kDisk);
}

TEST_F(PublishDurably, OfWhatIsAllDurableIsDoneAtOnce) {
  ClientPair pair;
  HoldAs(pair, 0, 4, /*generation=*/1, Durability::kBucket);
  HoldAs(pair, 4, 2, /*generation=*/2, Durability::kDisk);
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
  EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
  EXPECT_EQ(pair.Published(publish)->reached, Durability::kDisk);
  EXPECT_EQ(pair.node().publishes(), 0u);
}

// Of two that hold a block one is enough.
TEST_F(PublishDurably, AsksEveryGenerationThatHoldsABlock) {
  ClientPair pair;
  HoldAs(pair, 0, kBlocks, /*generation=*/1, Durability::kDisk);
  HoldAs(pair, 0, kBlocks, /*generation=*/2, Durability::kMemory);
  HoldAs(pair, 0, kBlocks, /*generation=*/3, Durability::kMemory);
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
}

TEST_F(PublishDurably, SendsAgainWhatTheNodeSaysNothingOf) {
  ClientPair pair;
  pair.node().script.recalled[AcksOf(pair.node().Hold(memory_, blocks_, 0, kBlocks))] = {};
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Pass(milliseconds(900));
  EXPECT_EQ(pair.node().publishes(), 0u);
  pair.Pass(milliseconds(200));
  EXPECT_EQ(pair.node().publishes(), 1u);
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 0, kBlocks - 1}});
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks);
}

TEST_F(PublishDurably, SendsAgainAtOnceWhereTheNodeWillNotSay) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, kBlocks);
  pair.node().script.refuse_acks = true;
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.node().publishes(), 1u);
  EXPECT_EQ(pair.Published(publish)->skipped, 0u);
}

// What was durable, and has gone since, is not there.
TEST_F(PublishDurably, IsNotKeptIfADurableBlockIsGoneInTheEnd) {
  ClientPair pair;
  HoldAs(pair, 0, 2, /*generation=*/1, Durability::kDisk);
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  pair.node().Evict(TestKind().TrackOf(blocks_.back(), {std::byte{1}}).Name(), 0);
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 2, 5}});
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kNotKept);
}

// A session has one subscription to a track: whoever else wants it shares it, and who comes a
// moment later, too.
TEST_F(PublishDurably, SeveralAskOnce) {
  ClientPair pair;
  HoldAs(pair, 0, kBlocks, /*generation=*/1, Durability::kDisk);
  const OperationId one = pair.PublishDurably(memory_, blocks_);
  const OperationId other = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  const OperationId later = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  for (const OperationId publish : {one, other, later}) {
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
  }
  EXPECT_EQ(pair.node().ack_follows(), 1u);
  pair.Pass(seconds(10));  // Nobody wants it any more,
  const size_t cancelled = pair.node().cancelled();
  EXPECT_GE(cancelled, 1u);
  const OperationId anew = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Published(anew)->skipped, kBlocks);
  EXPECT_EQ(pair.node().ack_follows(), 2u);  // and now somebody does.
}

// The rungs and slices of a generation are told of on one track.
TEST_F(PublishDurably, TwoRungsUnderOneGenerationHearOnOneTrack) {
  ClientPair pair;
  std::vector<OperationId> publications;
  for (const Rung rung : {Rung::kBf16, Rung::kInt8}) {
    publications.push_back(*pair.client().Publish(
        blocks_, memory_.Pages(), {{std::byte{9}}, Durability::kDisk, rung}, pair.now()));
  }
  pair.Run();
  EXPECT_EQ(pair.node().ack_follows(), 1u);
  pair.node().Acknowledge(
      {{Durability::kDisk, "BF16", 0, kBlocks - 1}, {Durability::kBucket, "Int8", 0, kBlocks - 1}});
  pair.Run();
  for (const OperationId publish : publications) {
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  }
  EXPECT_EQ(pair.Published(publications[1])->reached, Durability::kBucket);
}

// While it asks anything may happen.
TEST_F(PublishDurably, EndsWhileItAsks) {
  enum { kCancel, kLose, kClose };
  for (const int end : {kCancel, kLose, kClose}) {
    ClientPair pair;
    pair.node().script.recalled[AcksOf(pair.node().Hold(memory_, blocks_, 0, kBlocks))] = {};
    pair.Run();
    const OperationId publish = *pair.client().Publish(
        blocks_, memory_.Pages(), {{std::byte{9}}, Durability::kDisk, {}, /*ready=*/0}, pair.now());
    pair.Run();
    if (end == kCancel) {
      pair.client().Cancel(publish, pair.now());
    } else if (end == kLose) {
      pair.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
    } else {
      pair.client().Close(publish, pair.now());
    }
    pair.Pass(seconds(2));
    ASSERT_TRUE(pair.Published(publish).has_value()) << end;
    EXPECT_EQ(pair.Published(publish)->fault.has_value(), end != kClose);
    EXPECT_EQ(pair.node().publishes(), 0u);
  }
}

// Blocks that become ready meanwhile are sent once it is known what to send.
TEST_F(PublishDurably, TakesBlocksThatBecomeReadyWhileItAsks) {
  ClientPair pair;
  pair.node().script.recalled[AcksOf(pair.node().Hold(memory_, blocks_, 0, 2))] = {};
  pair.Run();
  const OperationId publish = *pair.client().Publish(
      blocks_, memory_.Pages(), {{std::byte{9}}, Durability::kDisk, {}, /*ready=*/0}, pair.now());
  pair.Run();
  pair.client().Ready(publish, kBlocks, pair.now());
  pair.Run();
  EXPECT_EQ(pair.node().publishes(), 0u);
  pair.Pass(seconds(2));
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 0, kBlocks - 1}});
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks);
}

TEST_F(PublishDurably, GivesUpANodeThatTellsTooMuch) {
  ClientPair pair;
  const TrackName track = pair.node().Hold(memory_, blocks_, 0, 1);
  pair.node().script.recalled[AcksOf(track)].resize(AckFollower::kRecordsMax + 1,
                                                    {Durability::kMemory, "FP8", 0, 0});
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.node().publishes(), 1u);
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 0, kBlocks - 1}});
  pair.Run();
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
}

}  // namespace
}  // namespace kvcast
