// Loads of engines that say what computing costs, from nodes that let them wait.
#include <gtest/gtest.h>

#include <deque>

#include "kvcast/base/random.h"
#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kComputing = milliseconds(10);  // Of a block.

// A node that answers fetches as slowly as a test likes, object by object.
class SlowNode {
 public:
  // From now on.
  explicit SlowNode(ClientPair& pair) : pair_(&pair), at_(pair.node().fetches().size()) {
    pair.node().script.silent_on_fetch = true;
  }

  // So many objects more, of the first fetch that is not answered in full; how many there were.
  size_t Send(size_t objects) {
    pair_->Run();
    size_t sent = 0;
    const auto& fetches = pair_->node().fetches();
    while (sent < objects && at_ < fetches.size()) {
      const moqt::FetchReceived& asked = fetches[at_];
      if (next_ == 0) {
        (void)session().AcceptFetch(asked.request, {false, asked.range.last, {}, {}});
      }
      const std::vector<Object> all = ObjectsOf(asked);
      for (; sent < objects && next_ < all.size(); ++sent) {
        (void)session().SendFetched(asked.request, all[next_++]);
      }
      if (next_ == all.size()) {
        (void)session().EndFetch(asked.request);
        ++at_;
        next_ = 0;
      }
    }
    pair_->Run();
    return sent;
  }

 private:
  moqt::Session& session() { return pair_->pair().server(); }
  std::vector<Object> ObjectsOf(const moqt::FetchReceived& asked) const {
    std::vector<Object> objects;
    for (const auto& [group, held] : pair_->node().tracks().at(asked.track)) {
      for (const Object& object : held) {
        if (asked.range.Contains(object.location)) {
          objects.push_back(object);
        }
      }
    }
    return objects;
  }

  ClientPair* pair_;
  size_t at_;        // Which fetch is being answered,
  size_t next_ = 0;  // and with which of its objects next.
};

class Worth : public testing::Test {
 protected:
  void Hold(ClientPair& pair) {
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.Run();
  }
  OperationId Load(ClientPair& pair, std::optional<Duration> compute = kComputing) {
    return *pair.client().Load(pair.client().Find(blocks_), blocks_, target_.Pages(),
                               {pair.now() + seconds(10), compute}, pair.now());
  }
  // The client gets to know the node as a fast one: all of it comes within no time.
  void Know(ClientPair& pair) {
    const OperationId load = Load(pair);
    pair.Run();
    ASSERT_TRUE(pair.Loaded(load)->complete());
    ASSERT_TRUE(pair.client().pace().known());
  }
  // It is under way until that much time has passed, and no longer; how it ended.
  LoadReport EndAfter(ClientPair& pair, OperationId load, Duration time) {
    pair.Pass(time - Duration(1));
    EXPECT_FALSE(pair.Loaded(load).has_value());
    pair.Pass(Duration(1));
    EXPECT_TRUE(pair.Loaded(load).has_value());
    const std::optional<LoadReport> report = pair.Loaded(load);
    return report ? *report : LoadReport::NodeLost(0, kBlocks, "It has not ended.");
  }
  void ExpectTruth(const LoadReport& report) {
    for (size_t block = 0; block < report.loaded(); ++block) {
      EXPECT_EQ(target_.Block(block), source_.Block(block)) << block;
    }
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  EngineMemory target_{kBlocks, /*seed=*/2};
};

// Nobody knows whether it will ever answer: as long as computing would take is long enough.
TEST_F(Worth, ASilentNodeIsWaitedForNoLongerThanComputingTakes) {
  for (const bool known : {false, true}) {
    ClientPair pair;
    Hold(pair);
    if (known) {
      Know(pair);
    }
    pair.node().script.silent_on_fetch = true;
    const OperationId load = Load(pair);
    const LoadReport report = EndAfter(pair, load, kComputing * kBlocks);
    EXPECT_EQ(report.outcomes[0], BlockOutcome::kComputingFaster);
    EXPECT_EQ(report.outcomes[1], BlockOutcome::kAfterGap);
    ASSERT_FALSE(report.choices.empty());
    EXPECT_EQ(report.choices.back(),
              "blocks from 0 on computed: computing is faster than to wait on; nothing came for "
              "60 ms; the rest takes 0 ms, computing it 60 ms.");
    pair.Run();
    EXPECT_EQ(pair.node().cancelled(), 1u);
  }
}

TEST_F(Worth, ANodeThatStallsIsWaitedForNoLongerThanTheRestTakesToCompute) {
  ClientPair pair;
  Hold(pair);
  Know(pair);
  SlowNode node(pair);
  target_.CopyBlock(EngineMemory(kBlocks, /*seed=*/3), 0);
  const OperationId load = Load(pair);
  node.Send(2 * kTestBlockTokens + 1);
  const LoadReport report = EndAfter(pair, load, kComputing * (kBlocks - 2));
  EXPECT_EQ(report.loaded(), 2u);
  EXPECT_EQ(report.outcomes[2], BlockOutcome::kComputingFaster);
  ExpectTruth(report);
}

// It may also never have been fast.
TEST_F(Worth, ANodeThatStallsAtFirstContactIsGivenUpToo) {
  ClientPair pair;
  Hold(pair);
  SlowNode node(pair);
  const OperationId load = Load(pair);
  pair.Pass(milliseconds(20));
  EXPECT_EQ(node.Send(1), 1u);  // A few bytes are no promise.
  const LoadReport report = EndAfter(pair, load, kComputing * kBlocks - milliseconds(20));
  EXPECT_EQ(report.outcomes[0], BlockOutcome::kComputingFaster);
}

TEST_F(Worth, WithoutAStatedCostOnlyTheDeadlineEndsALoad) {
  ClientPair pair;
  Hold(pair);
  Know(pair);
  SlowNode node(pair);
  const OperationId load = Load(pair, std::nullopt);
  node.Send(kTestBlockTokens + 1);
  const LoadReport report = EndAfter(pair, load, seconds(10));
  EXPECT_EQ(report.loaded(), 1u);
  EXPECT_EQ(report.outcomes[1], BlockOutcome::kTooLate);
}

// Its bytes keep coming, so it is never silent; but what was fast takes three times as long as
// computing. A few objects tell that.
TEST_F(Worth, ANodeThatHasBecomeSlowIsLeft) {
  ClientPair pair;
  Hold(pair);
  Know(pair);
  SlowNode node(pair);
  const OperationId load = Load(pair);
  const Instant begun = pair.now();
  while (!pair.Loaded(load) && node.Send(1) == 1) {
    pair.Pass(kComputing * 3 / kTestBlockTokens);
  }
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_LE(pair.now() - begun, kComputing * kBlocks);
  EXPECT_FALSE(pair.Loaded(load)->complete());
  EXPECT_EQ(pair.Loaded(load)->outcomes[pair.Loaded(load)->loaded()],
            BlockOutcome::kComputingFaster);
  ExpectTruth(*pair.Loaded(load));
}

// Half as long as computing, though each block takes a while, and so does the first byte.
TEST_F(Worth, ANodeThatIsFasterThanComputingIsNeverLeft) {
  for (const bool known : {false, true}) {
    for (const Duration first : {milliseconds(0), milliseconds(15)}) {
      ClientPair pair;
      Hold(pair);
      if (known) {
        Know(pair);
      }
      SlowNode node(pair);
      const OperationId load = Load(pair);
      pair.Pass(first);
      while (node.Send(1) == 1) {
        pair.Pass(kComputing / 2 / kTestBlockTokens);
      }
      ASSERT_TRUE(pair.Loaded(load).has_value());
      EXPECT_TRUE(pair.Loaded(load)->complete()) << pair.Loaded(load)->choices.back();
      ExpectTruth(*pair.Loaded(load));
    }
  }
}

// A hiccup is no reason to leave: what follows makes up for it.
TEST_F(Worth, APauseThatIsShorterThanWhatComputingTakesIsBorne) {
  ClientPair pair;
  Hold(pair);
  Know(pair);
  SlowNode node(pair);
  const OperationId load = Load(pair);
  node.Send(kTestBlockTokens + 1);
  pair.Pass(kComputing * (kBlocks - 1) - milliseconds(1));
  node.Send(SIZE_MAX);
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->complete());
}

// Blocks behind the one that is needed are no sign of it.
TEST_F(Worth, WhatComesFromElsewhereDoesNotHideASilentTrack) {
  ClientPair pair;
  pair.node().Hold(source_, blocks_, 0, 2, /*generation=*/1);
  pair.node().Hold(source_, blocks_, 2, kBlocks - 2, /*generation=*/2);
  pair.Run();
  Know(pair);
  SlowNode node(pair);
  const OperationId load = Load(pair);
  pair.Run();
  const auto& fetches = pair.node().fetches();
  ASSERT_EQ(fetches.size(), 4u);  // Two of the load before.
  const moqt::FetchReceived& second = fetches[2].range.first.group == 2 ? fetches[2] : fetches[3];
  pair.Pass(kComputing);
  moqt::Session& session = pair.pair().server();
  (void)session.AcceptFetch(second.request, {false, second.range.last, {}, {}});
  for (const auto& [group, objects] : pair.node().tracks().at(second.track)) {
    for (const Object& object : objects) {
      (void)session.SendFetched(second.request, object);
    }
  }
  (void)session.EndFetch(second.request);
  EXPECT_EQ(EndAfter(pair, load, kComputing * (kBlocks - 1)).loaded(), 0u);
}

// To follow is no reason to wait longer for what is held already.
TEST_F(Worth, WhoFollowsDoesNotWaitForASilentFetchEither) {
  ClientPair pair;
  pair.node().Hold(source_, blocks_, 0, 2);
  pair.Run();
  pair.node().script.silent_on_fetch = true;
  pair.node().script.silent_on_live = true;
  const OperationId load =
      pair.Follow(target_, blocks_, {seconds(5), SIZE_MAX, seconds(2)}, kComputing);
  EXPECT_EQ(EndAfter(pair, load, kComputing * kBlocks).outcomes[0], BlockOutcome::kComputingFaster);
}

// Whatever a node does, who loads first and computes the rest takes little more than twice as long
// as who computes at once: waiting costs as much as is lost, once.
TEST_F(Worth, NeverCostsMuchMoreThanTwiceWhatComputingDoes) {
  double worst = 0;
  size_t given_up = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    ClientPair pair;
    Hold(pair);
    if (random.Below(2) == 0) {
      Know(pair);
    }
    SlowNode node(pair);
    const OperationId load = Load(pair);
    const Instant begun = pair.now();
    const uint64_t pause_us_max = uint64_t{1} << random.Below(18);  // Up to 131 ms.
    while (!pair.Loaded(load)) {
      uint64_t pause_us = random.Below(pause_us_max + 1);
      for (; pause_us > 0 && !pair.Loaded(load); pause_us -= std::min<uint64_t>(pause_us, 100)) {
        pair.Pass(std::chrono::microseconds(100));
      }
      if (random.Below(4) != 0) {
        node.Send(1 + random.Below(2 * kTestBlockTokens));
      }
      ASSERT_LT(pair.now() - begun, seconds(1)) << "seed " << seed;
    }
    const LoadReport report = *pair.Loaded(load);
    ExpectTruth(report);
    given_up += static_cast<size_t>(!report.complete());
    const size_t left = kBlocks - report.loaded();
    const Duration taken = pair.now() - begun + kComputing * static_cast<int64_t>(left);
    worst = std::max(worst, std::chrono::duration<double>(taken) /
                                std::chrono::duration<double>(kComputing * kBlocks));
  }
  EXPECT_GT(given_up, 20u);
  EXPECT_LT(given_up, 180u);
  EXPECT_LE(worst, 2.2);
}

}  // namespace
}  // namespace kvcast
