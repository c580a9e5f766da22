#include "kvcast/client/publication.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

class Publish : public testing::Test {
 protected:
  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory memory_{kBlocks, /*seed=*/1};
};

TEST_F(Publish, IsDoneWhenTheNodeListsEveryBlock) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed < 10 ? 7 : 1 << 20;
    ClientPair pair(options);
    const OperationId publish = pair.Publish(memory_, blocks_);
    pair.Run();
    const std::optional<PublishReport> report = pair.Published(publish);
    ASSERT_TRUE(report.has_value());
    EXPECT_FALSE(report->fault.has_value()) << report->reason;
    EXPECT_EQ(report->sent, kBlocks);
    EXPECT_EQ(report->listed, kBlocks);
    EXPECT_EQ(report->skipped, 0u);
    EXPECT_FALSE(report->reached.has_value());  // Nobody has asked where the node keeps it.
    EXPECT_EQ(pair.client().Find(blocks_).block_count(), kBlocks);
  }
}

// What goes over the wire is the contract: one track, a group a block, an object a token.
TEST_F(Publish, WritesTracksAsTheContractHasThem) {
  ClientPair pair;
  (void)pair.Publish(memory_, blocks_, /*generation=*/5);
  pair.Run();
  ASSERT_EQ(pair.node().tracks().size(), 1u);
  const auto& [track, groups] = *pair.node().tracks().begin();
  EXPECT_EQ(track, TestKind().TrackOf(blocks_.back(), {std::byte{5}}).Name());
  ASSERT_EQ(groups.size(), kBlocks);
  const auto codec = Codec::Plain(Rung::kBf16, TestShape());
  for (size_t block = 0; block < kBlocks; ++block) {
    const std::vector<Object>& objects = groups.at(block);
    ASSERT_EQ(objects.size(), kTestBlockTokens);
    const std::vector<Bytes> payloads = codec->EncodeBlock(memory_.Pages().Block(block));
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      EXPECT_EQ(objects[token].location, (Location{block, token}));
      EXPECT_EQ(objects[token].subgroup, 0u);
      EXPECT_EQ(objects[token].payload, payloads[token]);
      EXPECT_EQ(*BlockHashIn(objects[token].properties),
                token == 0 ? std::optional(blocks_[block]) : std::nullopt);
    }
  }
}

TEST_F(Publish, SendsOnlyWhatTheNodeDoesNotHold) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 2);
  pair.node().Hold(memory_, blocks_, 4, 1, /*generation=*/2);
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Published(publish)->skipped, 3u);
  EXPECT_EQ(pair.Published(publish)->sent, 3u);
  const auto& groups =
      pair.node().tracks().at(TestKind().TrackOf(blocks_.back(), {std::byte{9}}).Name());
  EXPECT_TRUE(groups.contains(2) && groups.contains(3) && groups.contains(5));
  EXPECT_EQ(groups.size(), 3u);
}

TEST_F(Publish, OfWhatIsAllHeldAsksNothing) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, kBlocks);
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
  EXPECT_EQ(pair.node().publishes(), 0u);
}

// The same block at another rung is another cache.
TEST_F(Publish, IsNotHeldAtAnotherRung) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, kBlocks, 1, Rung::kFp16);
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks);
}

TEST_F(Publish, OfAnEmptyPromptIsDoneAtOnce) {
  ClientPair pair;
  const EngineMemory none(0, 1);
  const OperationId publish = pair.Publish(none, {});
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
}

// However long the prompt: what waits to be sent stays at the session's mark.
TEST_F(Publish, EncodesNoFurtherThanTheSessionHasRoom) {
  constexpr size_t kLong = 200;
  const EngineMemory memory(kLong, 1);
  const std::vector<BlockHash> blocks = TestBlocks(kLong);
  moqt::SessionPair::Options options;
  options.limits.send_queue_high_bytes = 10'000;
  options.limits.send_queue_low_bytes = 2'000;
  options.stream_window = 100;
  options.cut_max = 50;
  ClientPair pair(options);
  const OperationId publish = pair.Publish(memory, blocks);
  const size_t object_bytes = Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  size_t most = 0;
  while (pair.Step()) {
    if (pair.node().last_publish()) {
      most = std::max(most, pair.pair().client().queued_bytes(*pair.node().last_publish()));
    }
  }
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->listed, kLong);
  EXPECT_GE(most, 10'000u);  // It does fill what it may.
  // And one object with its stream's header more, and what these cost in memory.
  EXPECT_LE(most, 10'000u + object_bytes + 2'000);
}

TEST_F(Publish, TellsHowFarItIs) {
  ClientPair pair;
  pair.node().script.never_list = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  PublishReport last;
  for (const ClientEvent& event : pair.events()) {
    if (const auto* progress = std::get_if<PublishProgress>(&event)) {
      EXPECT_EQ(progress->operation, publish);
      last = progress->report;
    }
  }
  EXPECT_EQ(last.sent, kBlocks);
  EXPECT_EQ(last.listed, 0u);
  EXPECT_EQ(last.bytes,
            kBlocks * kTestBlockTokens * Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax());
}

TEST_F(Publish, WaitsForANodeThatWantsNoObjectsYet) {
  ClientPair pair;
  pair.node().script.hold_publish = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  EXPECT_FALSE(pair.Published(publish).has_value());
  EXPECT_TRUE(pair.node().tracks().empty());
  pair.Pass(seconds(60));
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kPatienceOver);
}

TEST_F(Publish, GoesOnWhenTheNodeWantsObjectsAgain) {
  ClientPair pair;
  pair.node().script.hold_publish = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  EXPECT_TRUE(pair.node().tracks().empty());
  moqt::Parameters wanted;
  wanted.forward = true;
  ASSERT_TRUE(pair.pair().server().Update(*pair.node().last_publish(), wanted).ok());
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
}

// In the middle of a block as well: what is not sent then is sent later, and nothing is left out.
TEST_F(Publish, PausesWhileTheNodeWantsNoObjects) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    moqt::SessionPair::Options options;
    options.limits.send_queue_high_bytes = 100;
    options.limits.send_queue_low_bytes = 10;
    options.cut_max = 50;
    options.seed = seed;
    ClientPair pair(options);
    const OperationId publish = pair.Publish(memory_, blocks_);
    while (pair.node().tracks().empty() && pair.Step()) {
    }
    moqt::Parameters wanted;
    wanted.forward = false;
    ASSERT_TRUE(pair.pair().server().Update(*pair.node().last_publish(), wanted).ok());
    pair.Run();
    EXPECT_FALSE(pair.Published(publish).has_value());
    const auto count = [&] {
      size_t objects = 0;
      for (const auto& [group, each] : pair.node().tracks().begin()->second) {
        objects += each.size();
      }
      return objects;
    };
    EXPECT_LT(count(), kBlocks * kTestBlockTokens);
    wanted.forward = true;
    ASSERT_TRUE(pair.pair().server().Update(*pair.node().last_publish(), wanted).ok());
    pair.Run();
    EXPECT_EQ(count(), kBlocks * kTestBlockTokens);
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  }
}

// From the middle of block 1 to the end of block 3.
TEST_F(Publish, SendsNothingThatTheNodesFilterLeavesOut) {
  using Filter = moqt::SubscriptionFilter;
  ClientPair pair;
  pair.node().script.publish_filter = Filter{Filter::Type::kAbsoluteRange, {1, 1}, 3};
  std::vector<moqt::PublishDone> done;
  pair.node().script.on_publish_done = [&](const moqt::PublishDone& each) { done.push_back(each); };
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  const ScriptedNode::Groups& groups = pair.node().tracks().begin()->second;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups.at(1).size(), kTestBlockTokens - 1);
  EXPECT_EQ(groups.at(1).front().location, (Location{1, 1}));
  EXPECT_EQ(groups.at(2).size(), kTestBlockTokens);
  EXPECT_EQ(groups.at(3).size(), kTestBlockTokens);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].code, moqt::DoneCode::kSubscriptionEnded);
  const std::optional<PublishReport> report = pair.Published(publish);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->sent, 2u);
  EXPECT_EQ(report->listed, 2u);
  EXPECT_EQ(report->fault, PublishFault::kRefused);  // Not every block is at the node.
}

TEST_F(Publish, KeepsToAFilterThatChanges) {
  using Filter = moqt::SubscriptionFilter;
  ClientPair pair;
  pair.node().script.hold_publish = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  moqt::Parameters wanted;
  wanted.filter = Filter{Filter::Type::kAbsoluteRange, {4, 0}, 4};
  ASSERT_TRUE(pair.pair().server().Update(*pair.node().last_publish(), wanted).ok());
  pair.Run();
  EXPECT_TRUE(pair.node().tracks().empty());
  wanted.filter = Filter{Filter::Type::kAbsoluteStart, {5, 0}, 0};
  wanted.forward = true;
  ASSERT_TRUE(pair.pair().server().Update(*pair.node().last_publish(), wanted).ok());
  pair.Run();
  const ScriptedNode::Groups& groups = pair.node().tracks().begin()->second;
  EXPECT_EQ(groups.size(), kBlocks - 5);
  EXPECT_TRUE(groups.contains(5));
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks - 5);
}

TEST_F(Publish, FailsWhenItIsRefused) {
  ClientPair pair;
  pair.node().script.refuse_publish = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kRefused);
  EXPECT_NE(pair.Published(publish)->reason.find("by script"), std::string::npos);
  EXPECT_EQ(pair.Published(publish)->bytes, 0u);  // Nothing was encoded for it.
}

TEST_F(Publish, FailsWhenTheNodeGivesItUp) {
  moqt::SessionPair::Options options;
  options.limits.send_queue_high_bytes = 100;  // So that there is more to send when it does.
  options.limits.send_queue_low_bytes = 10;
  ClientPair pair(options);
  pair.node().script.give_up_publish = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kRefused);
}

TEST_F(Publish, FailsWhenNothingMovesForTooLong) {
  for (const bool answers : {false, true}) {
    ClientPair pair;
    pair.node().script.silent_on_publish = !answers;
    pair.node().script.never_list = true;
    const OperationId publish = pair.Publish(memory_, blocks_);
    pair.Pass(seconds(29));
    EXPECT_FALSE(pair.Published(publish).has_value());
    pair.Pass(seconds(2));
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kPatienceOver);
    EXPECT_EQ(pair.Published(publish)->sent, answers ? kBlocks : 0u);
  }
}

// A slow way is not a dead one.
TEST_F(Publish, HasPatienceWhileBytesLeave) {
  moqt::SessionPair::Options options;
  options.cut_max = 20;
  ClientPair pair(options);
  pair.Run();
  const OperationId publish = pair.Publish(memory_, blocks_);
  Instant now = pair.now();
  for (size_t pieces = 0; !pair.Published(publish) && pieces < 10'000; ++pieces) {
    (void)pair.pair().Step();
    pair.node().OnInput();
    const bool leaving = pair.node().last_publish() &&
                         pair.pair().client().queued_bytes(*pair.node().last_publish()) > 0;
    now += leaving ? seconds(5) : seconds(0);
    pair.client().OnInput(now);
    if (pair.client().deadline() && *pair.client().deadline() <= now) {
      pair.client().OnTimeout(now);
    }
  }
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
}

TEST_F(Publish, FailsCleanlyWhenTheNodeIsLost) {
  ClientPair pair;
  pair.node().script.never_list = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  pair.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kNodeLost);
  // And so does what comes later, at once.
  const OperationId later = pair.Publish(memory_, blocks_);
  ASSERT_TRUE(pair.Published(later).has_value());
  EXPECT_EQ(pair.Published(later)->fault, PublishFault::kNodeLost);
}

TEST_F(Publish, EndsWhenCancelledAtAnyMoment) {
  for (size_t steps = 0; steps < 80; ++steps) {
    moqt::SessionPair::Options options;
    options.cut_max = 60;
    options.seed = steps;
    ClientPair pair(options);
    const OperationId publish = pair.Publish(memory_, blocks_);
    for (size_t step = 0; step < steps && pair.pair().Step(); ++step) {
      pair.node().OnInput();
      pair.client().OnInput(pair.now());
    }
    pair.client().Cancel(publish, pair.now());
    ASSERT_TRUE(pair.Published(publish).has_value());
    pair.Run();
    EXPECT_FALSE(pair.pair().connection_closed());
  }
}

TEST_F(Publish, WaitsForTheNodesWordWhereItIsToBeDurable) {
  ClientPair pair;
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(*DurabilityIn(pair.node().published_properties()), Durability::kDisk);
  ASSERT_TRUE(pair.node().has_ack_follower());
  EXPECT_FALSE(pair.Published(publish).has_value());  // Listed, and not yet durable.
  pair.node().Acknowledge({{Durability::kDisk, "BF16", 3, 5}, {Durability::kDisk, "FP8", 0, 9}});
  pair.Run();
  EXPECT_FALSE(pair.Published(publish).has_value());
  pair.node().Acknowledge({{Durability::kBucket, "BF16", 0, 2}});
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  EXPECT_EQ(pair.Published(publish)->skipped, 0u);
  EXPECT_EQ(pair.Published(publish)->durable, kBlocks);
  EXPECT_EQ(pair.Published(publish)->reached, Durability::kDisk);
}

// Twenty seconds between words are no reason to give up.
TEST_F(Publish, HasPatienceWhileBlocksBecomeDurable) {
  ClientPair pair;
  const OperationId publish = pair.PublishDurably(memory_, blocks_);
  pair.Run();
  for (uint64_t block = 0; block < kBlocks; ++block) {
    pair.Pass(seconds(20));
    ASSERT_FALSE(pair.Published(publish).has_value()) << block;
    pair.node().Acknowledge({{Durability::kDisk, "BF16", block, block}});
    pair.Run();
  }
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
}

TEST_F(Publish, FailsWhenABlockDoesNotBecomeDurable) {
  for (const std::optional<Durability> level :
       {std::optional<Durability>(), std::optional(Durability::kMemory)}) {
    ClientPair pair;
    const OperationId publish = pair.PublishDurably(memory_, blocks_);
    pair.Run();
    pair.node().Acknowledge({{level, "BF16", 2, 2}});
    pair.Run();
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kNotDurable);
  }
}

TEST_F(Publish, FailsWhenNobodyTellsWhatIsDurable) {
  ClientPair refusing;
  refusing.node().script.refuse_acks = true;
  const OperationId refused = refusing.PublishDurably(memory_, blocks_);
  refusing.Run();
  EXPECT_EQ(refusing.Published(refused)->fault, PublishFault::kNotDurable);
  ClientPair silent;
  const OperationId publish = silent.PublishDurably(memory_, blocks_);
  silent.Pass(seconds(60));
  ASSERT_TRUE(silent.Published(publish).has_value());
  EXPECT_EQ(silent.Published(publish)->fault, PublishFault::kPatienceOver);
}

TEST_F(Publish, RefusesPagesThatAreNotOfItsKind) {
  ClientPair pair;
  EXPECT_EQ(pair.client().Publish(TestBlocks(2), memory_.Pages(), {}, pair.now()).error().code(),
            ErrorCode::kInvalid);
  const PromptPages slice =
      *PromptPages::Of(memory_.cache(), {0, 1}, kTestBlockTokens, 1, Slice{IndexRange{0, 0}, {}});
  EXPECT_EQ(pair.client().Publish(TestBlocks(1), slice, {}, pair.now()).error().code(),
            ErrorCode::kInvalid);
}

// While a prompt is being prefilled its blocks are published as they are computed, and none is read
// before.
TEST_F(Publish, SendsBlocksAsTheyBecomeReady) {
  ClientPair pair;
  EngineMemory memory(kBlocks, /*seed=*/3);
  const OperationId publish =
      *pair.client().Publish(blocks_, memory.Pages(), {.ready = 0}, pair.now());
  pair.Run();
  EXPECT_EQ(pair.node().publishes(), 0u);
  for (size_t block = 0; block < kBlocks; ++block) {
    EXPECT_FALSE(pair.Published(publish).has_value());
    memory.CopyBlock(memory_, block);  // It is computed,
    pair.client().Ready(publish, block + 1, pair.now());
    pair.Run();
    EXPECT_EQ(pair.client().Find(blocks_).block_count(), block + 1);
  }
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks);
  EXPECT_EQ(pair.node().publishes(), 1u);
  const auto codec = Codec::Plain(Rung::kBf16, TestShape());
  for (const auto& [group, objects] : pair.node().tracks().begin()->second) {
    const std::vector<Bytes> payloads = codec->EncodeBlock(memory_.Pages().Block(group));
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      EXPECT_EQ(objects[token].payload, payloads[token]);
    }
  }
}

// Where the coding follows from the values, it follows from those that are there by then.
TEST_F(Publish, ChoosesItsCodingByTheFirstBlocksThatAreReady) {
  ClientPair pair;
  EngineMemory memory(kBlocks, /*seed=*/3);
  const OperationId publish = *pair.client().Publish(
      blocks_, memory.Pages(), {.rung = Rung::kBf16Lossless, .ready = 0}, pair.now());
  for (size_t block = 0; block < kBlocks; ++block) {
    memory.CopyBlock(memory_, block);
    pair.client().Ready(publish, block + 1, pair.now());
    pair.Run();
  }
  ASSERT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  const EngineMemory target(kBlocks, /*seed=*/2);
  const Rung rung = Rung::kBf16Lossless;
  const OperationId load =
      *pair.client().Load(pair.client().Find(blocks_, 0, {&rung, 1}), blocks_, target.Pages(),
                          {pair.now() + seconds(10)}, pair.now());
  pair.Run();
  EXPECT_EQ(pair.Loaded(load)->loaded(), kBlocks);
  for (size_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(target.Block(block), memory_.Block(block));
  }
}

// A prefill that is given up leaves what it has computed, and the track ends there.
TEST_F(Publish, EndsWithWhatIsReadyWhenNoMoreComes) {
  ClientPair pair;
  std::optional<moqt::PublishDone> done;
  pair.node().script.on_publish_done = [&](const moqt::PublishDone& told) { done = told; };
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 2}, pair.now());
  pair.Run();
  EXPECT_FALSE(pair.Published(publish).has_value());
  pair.client().Ready(publish, 3, pair.now());
  pair.client().Close(publish, pair.now());
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
  EXPECT_EQ(pair.Published(publish)->blocks, 3u);
  EXPECT_EQ(pair.Published(publish)->listed, 3u);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->code, moqt::DoneCode::kTrackEnded);
  EXPECT_EQ(pair.client().Find(blocks_).block_count(), 3u);
}

TEST_F(Publish, OfWhichNothingBecameReadyAsksNothing) {
  ClientPair pair;
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 0}, pair.now());
  pair.Run();
  pair.client().Close(publish, pair.now());
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
  EXPECT_EQ(pair.Published(publish)->blocks, 0u);
  EXPECT_EQ(pair.node().publishes(), 0u);
}

// The node is not to blame for a prompt that takes its time.
TEST_F(Publish, WaitsForTheEngineAsLongAsItTakes) {
  ClientPair pair;
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 0}, pair.now());
  for (size_t block = 0; block < kBlocks; ++block) {
    pair.Pass(std::chrono::hours(1));
    EXPECT_FALSE(pair.Published(publish).has_value());
    pair.client().Ready(publish, block + 1, pair.now());
  }
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
}

TEST_F(Publish, IsImpatientWithTheNodeAgainOnceThereIsSomethingToSend) {
  ClientPair pair;
  pair.node().script.never_list = true;
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 0}, pair.now());
  pair.Pass(std::chrono::hours(1));
  pair.client().Ready(publish, 1, pair.now());
  pair.Pass(seconds(29));
  EXPECT_FALSE(pair.Published(publish).has_value());
  pair.Pass(seconds(2));
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kPatienceOver);
}

// Two engines that prefill the same prompt: who is slower leaves out what the other has published.
TEST_F(Publish, LeavesOutWhatOthersPublishedMeanwhile) {
  ClientPair pair;
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 1}, pair.now());
  pair.Run();
  pair.node().Hold(memory_, blocks_, 1, 3);
  pair.Run();
  pair.client().Ready(publish, kBlocks, pair.now());
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value());
  EXPECT_EQ(pair.Published(publish)->skipped, 3u);
  EXPECT_EQ(pair.Published(publish)->sent, kBlocks - 3);
}

TEST_F(Publish, ThatIsReadyTooLateForItsNodeSaysSo) {
  ClientPair pair;
  const OperationId publish =
      *pair.client().Publish(blocks_, memory_.Pages(), {.ready = 1}, pair.now());
  pair.Run();
  pair.pair().server().Close(moqt::SessionCode::kNoError, "gone");
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->fault, PublishFault::kNodeLost);
  pair.client().Ready(publish, 2, pair.now());  // Nobody listens any more.
  pair.client().Close(publish, pair.now());
}

}  // namespace
}  // namespace kvcast
