// Loads that go on while somebody publishes.
#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Following : public testing::Test {
 protected:
  // Blocks that are said to be loaded are; of the others no token is anything but the right one or
  // what it was before.
  void ExpectTruth(const LoadReport& report) {
    const EngineMemory untouched(kBlocks, /*seed=*/2);
    for (size_t block = 0; block < kBlocks; ++block) {
      for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
        const bool right = target_.Token(block, token) == source_.Token(block, token);
        EXPECT_TRUE(right || (block >= report.loaded() &&
                              target_.Token(block, token) == untouched.Token(block, token)))
            << "block " << block << " token " << token;
      }
    }
  }
  LoadReport Ended(ClientPair& pair, OperationId load) {
    const std::optional<LoadReport> report = pair.Loaded(load);
    EXPECT_TRUE(report.has_value()) << "still under way";
    if (!report) {
      return {};
    }
    ExpectTruth(*report);
    return *report;
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  EngineMemory target_{kBlocks, /*seed=*/2};
};

// The catalog tells of the first block, and after that nobody asks it any more.
TEST_F(Following, HasEveryBlockAsItIsPublished) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().script.never_list = true;
  for (size_t block = 1; block < kBlocks; ++block) {
    EXPECT_FALSE(pair.Loaded(load).has_value());
    pair.node().Live(source_, blocks_, block);
    pair.Run();
    EXPECT_EQ(target_.Block(block), source_.Block(block));
  }
  const LoadReport report = Ended(pair, load);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.live, kBlocks - 1);
  EXPECT_EQ(report.fetches, 1u);
  EXPECT_EQ(report.runs.size(), 1u);
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(report.WhyOf(0), report.choices[0]);
  EXPECT_EQ(report.WhyOf(1), "It came as it was published.");
  EXPECT_EQ(report.RungOf(kBlocks - 1), Rung::kBf16);
}

// Who comes later fetches up to the newest object, in the middle of a block, and goes on from
// there, whatever comes first.
TEST_F(Following, JoinsInTheMiddleOfABlock) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed % 2 == 0 ? 7 : 1 << 20;
    ClientPair pair(options);
    EngineMemory target(kBlocks, /*seed=*/2);
    Random random(seed);
    pair.node().Live(source_, blocks_, 0);
    pair.Run();
    pair.node().script.never_list = true;
    pair.node().Live(source_, blocks_, 1);
    const auto half = static_cast<uint32_t>(random.Below(kTestBlockTokens));
    pair.node().Live(source_, blocks_, 2, 0, half);
    const OperationId load = pair.Follow(target, blocks_);
    for (uint64_t steps = random.Below(200); steps > 0 && pair.pair().Step(); --steps) {
      pair.node().OnInput();
      pair.client().OnInput(pair.now());
    }
    pair.node().Live(source_, blocks_, 2, half, kTestBlockTokens - half);
    for (size_t block = 3; block < kBlocks; ++block) {
      for (uint64_t steps = random.Below(50); steps > 0 && pair.pair().Step(); --steps) {
        pair.node().OnInput();
        pair.client().OnInput(pair.now());
      }
      pair.node().Live(source_, blocks_, block);
    }
    pair.Run();
    const std::optional<LoadReport> report = pair.Loaded(load);
    ASSERT_TRUE(report.has_value()) << "seed " << seed;
    EXPECT_TRUE(report->complete()) << "seed " << seed << ": " << report->reason;
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(target.Block(block), source_.Block(block)) << "seed " << seed;
    }
  }
}

// What comes live of the block in the middle waits for what is fetched of it.
TEST_F(Following, PutsWhatComesBehindWhatIsFetched) {
  ClientPair pair;
  pair.node().Live(source_, blocks_, 0);
  pair.node().Live(source_, blocks_, 1, 0, 2);
  pair.Run();
  pair.node().script.hold_fetches = true;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  pair.node().Live(source_, blocks_, 1, 2, 2);
  pair.node().Live(source_, blocks_, 2);
  pair.Run();
  EXPECT_EQ(target_.Block(2), source_.Block(2));  // Its own pages need not wait.
  EXPECT_NE(target_.Block(1), source_.Block(1));
  pair.node().ServeHeld();
  pair.node().EndLive(pair.node().tracks().begin()->first);
  pair.Run();
  EXPECT_EQ(Ended(pair, load).loaded(), 3u);
}

// A catalog is often faster than what it tells of.
TEST_F(Following, TakesABlockOnceThoughItIsListedBeforeItComes) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  for (size_t block = 1; block < kBlocks; ++block) {
    pair.node().Hold(source_, blocks_, block, 1);
    pair.Run();
    EXPECT_EQ(pair.node().fetches().size(), 1u);
    for (const Object& object : pair.node().tracks().at(track).at(block)) {
      pair.node().SendLive(track, object);
    }
    pair.node().EndLiveGroup(track, block);
    pair.Run();
  }
  EXPECT_EQ(Ended(pair, load).live, kBlocks - 1);
}

// However long nothing was to be fetched: to wait for that begins when it is asked for.
TEST_F(Following, GivesAFetchItsTimeHoweverLateItIsAskedFor) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(40)},
                                       /*compute_per_block=*/milliseconds(500));
  pair.Run();
  pair.node().Live(source_, blocks_, 0);
  pair.Pass(milliseconds(2400));
  pair.node().script.hold_fetches = true;
  pair.node().Hold(source_, blocks_, 1, kBlocks - 1);
  pair.Pass(milliseconds(1000));  // It does not come, and is fetched.
  pair.Pass(milliseconds(2400));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().ServeHeld();
  pair.Run();
  EXPECT_TRUE(Ended(pair, load).complete());
}

// A node that lists a block has it: a subscription that has gone silent is not waited for as long
// as one whose publisher computes.
TEST_F(Following, FetchesWhatIsListedAndDoesNotCome) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(40)});
  pair.Run();
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().Hold(source_, blocks_, 1, kBlocks - 1);
  pair.Pass(milliseconds(900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_TRUE(Ended(pair, load).complete());
  EXPECT_FALSE(pair.node().has_follower(track));
}

// What is listed behind the block that is waited for does not prolong the wait.
TEST_F(Following, WaitsOnceForASubscriptionThatIsSilent) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(40)});
  pair.Run();
  pair.node().Live(source_, blocks_, 0);
  pair.Run();
  for (size_t block = 1; block < kBlocks; ++block) {
    pair.node().Hold(source_, blocks_, block, 1);
    pair.Pass(milliseconds(600));
    EXPECT_EQ(target_.Block(block) == source_.Block(block), block > 1) << block;
  }
  EXPECT_EQ(target_.Block(1), source_.Block(1));
  EXPECT_TRUE(Ended(pair, load).complete());
}

// Also where nobody has begun since the load did.
TEST_F(Following, WaitsBrieflyForTheFirstThatIsListedAndDoesNotCome) {
  ClientPair pair;
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(40)});
  pair.Pass(seconds(10));
  ASSERT_TRUE(pair.node().has_follower(track));
  pair.node().Hold(source_, blocks_, 1, kBlocks - 1);
  pair.Pass(milliseconds(900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_TRUE(Ended(pair, load).complete());
}

// However long it took to compute: only from its listing on is it to be expected.
TEST_F(Following, GivesABlockThatIsListedTimeToCome) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(6)});
  pair.Run();
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  for (size_t block = 1; block < kBlocks; ++block) {
    pair.Pass(milliseconds(5900));
    pair.node().Hold(source_, blocks_, block, 1);
    pair.Pass(milliseconds(900));
    for (const Object& object : pair.node().tracks().at(track).at(block)) {
      pair.node().SendLive(track, object);
    }
    pair.node().EndLiveGroup(track, block);
    pair.Run();
  }
  const LoadReport report = Ended(pair, load);
  EXPECT_EQ(report.live, kBlocks - 1);
  EXPECT_EQ(report.fetches, 1u);
}

// What a catalog brings is a publication that has begun, too; nobody waits for another one.
TEST_F(Following, EndsWhenACatalogHasNoMoreToTell) {
  ClientPair pair;
  pair.node().script.refuse_live = true;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(2)});
  pair.Pass(seconds(10));
  pair.node().Live(source_, blocks_, 0);
  pair.Pass(milliseconds(1900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_EQ(Ended(pair, load).loaded(), 1u);
}

// A publication that has all its name promises leaves nothing to wait for.
TEST_F(Following, EndsAtOnceWhereAPublicationEndsByItsName) {
  ClientPair pair;
  const std::vector<BlockHash> shorter(blocks_.begin(), blocks_.begin() + 3);
  const OperationId load = pair.Follow(target_, blocks_, {seconds(50), SIZE_MAX, seconds(20)});
  pair.Run();
  pair.node().Hold(source_, shorter, 0, 3);
  pair.Run();
  EXPECT_EQ(Ended(pair, load).loaded(), 3u);
}

TEST_F(Following, EndsWithThePublicationAtOnce) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  for (size_t block = 0; block < 4; ++block) {
    pair.node().Live(source_, blocks_, block);
    pair.Run();
  }
  pair.node().EndLive(pair.node().tracks().begin()->first);
  pair.Run();
  const LoadReport report = Ended(pair, load);
  EXPECT_EQ(report.loaded(), 4u);
  EXPECT_EQ(report.outcomes.size(), kBlocks);
  EXPECT_EQ(report.outcomes[4], BlockOutcome::kNotHeld);
}

// Two prompts that begin alike: the rest of the other one is nothing to wait for.
TEST_F(Following, LeavesAPublicationThatGoesAnotherWay) {
  ClientPair pair;
  const std::vector<BlockHash> others = TestBlocks(kBlocks, /*family=*/1, /*shared=*/3);
  ASSERT_EQ(others[2], blocks_[2]);
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  const TrackName track = pair.node().Live(source_, others, 0);
  pair.Run();
  for (size_t block = 1; block < 4; ++block) {
    EXPECT_FALSE(pair.Loaded(load).has_value());
    pair.node().Live(source_, others, block);
    pair.Run();
  }
  EXPECT_EQ(Ended(pair, load).loaded(), 3u);
  EXPECT_FALSE(pair.node().has_follower(track));
}

TEST_F(Following, OfAPublisherThatDiesKeepsWhatIsWhole) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().Live(source_, blocks_, 1);
  const TrackName track = pair.node().Live(source_, blocks_, 2, 0, 2);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().EndLiveGroup(track, 2, /*whole=*/false);
  pair.node().EndLive(track, moqt::DoneCode::kInternalError);
  pair.Run();
  const LoadReport report = Ended(pair, load);
  EXPECT_EQ(report.loaded(), 2u);
  EXPECT_EQ(report.outcomes[2], BlockOutcome::kNotHeld);
}

TEST_F(Following, EndsWhenNothingComesForTooLong) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(5), SIZE_MAX, seconds(2)});
  pair.Pass(seconds(4));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().Live(source_, blocks_, 0);
  pair.Pass(milliseconds(1900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  const TrackName track = pair.node().Live(source_, blocks_, 1);
  pair.Pass(milliseconds(1900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_EQ(Ended(pair, load).loaded(), 2u);
  EXPECT_FALSE(pair.node().has_follower(track));
}

TEST_F(Following, WaitsNoLongerThanComputingWouldTake) {
  ClientPair pair;
  const OperationId load =
      pair.Follow(target_, blocks_, {seconds(5), SIZE_MAX, seconds(50)}, milliseconds(100));
  pair.node().Live(source_, blocks_, 0);
  pair.Pass(milliseconds(100));
  pair.node().Live(source_, blocks_, 1);
  pair.Pass(milliseconds(390));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(20));
  EXPECT_EQ(Ended(pair, load).loaded(), 2u);
}

TEST_F(Following, EndsWhenNobodyBegins) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(5)});
  pair.Pass(milliseconds(4900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_EQ(Ended(pair, load).loaded(), 0u);
}

// An engine that does not know of anybody loads what there is, and waits for nobody.
TEST_F(Following, WaitsForNobodyToBeginUnlessToldSo) {
  ClientPair pair;
  pair.node().Hold(source_, TestBlocks(3), 0, 3);
  pair.Run();
  const OperationId load = pair.Follow(target_, blocks_, {});
  const OperationId expecting = pair.Follow(target_, blocks_, {seconds(5), /*expected=*/3});
  pair.Run();
  EXPECT_EQ(Ended(pair, load).loaded(), 3u);
  EXPECT_EQ(Ended(pair, expecting).loaded(), 3u);
  EXPECT_EQ(pair.node().follows(), 0u);  // By its name the track goes no further.
}

TEST_F(Following, OfATrackThatHasEndedLearnsThatAtOnce) {
  ClientPair pair;
  pair.node().EndLive(pair.node().Hold(source_, blocks_, 0, 4));
  pair.Run();
  const OperationId load = pair.Follow(target_, blocks_, {});
  pair.Run();
  EXPECT_EQ(Ended(pair, load).loaded(), 4u);
  EXPECT_EQ(pair.node().follows(), 1u);
}

// A publisher leaves out what is held elsewhere: its track has holes, and the prompt has none.
TEST_F(Following, FillsHolesFromElsewhere) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().Live(source_, blocks_, 1);
  pair.node().Live(source_, blocks_, 4);
  pair.node().Live(source_, blocks_, 5);
  pair.Run();
  pair.node().EndLive(pair.node().tracks().begin()->first);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().Hold(source_, blocks_, 2, 2, /*generation=*/7);
  pair.Run();
  EXPECT_TRUE(Ended(pair, load).complete());
}

// A new publication that begins where an old one ends.
TEST_F(Following, WaitsForAConversationToGrow) {
  ClientPair pair;
  const std::vector<BlockHash> turn(blocks_.begin(), blocks_.begin() + 3);
  pair.node().Hold(source_, turn, 0, 3);
  pair.Run();
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  for (size_t block = 3; block < kBlocks; ++block) {
    EXPECT_FALSE(pair.Loaded(load).has_value());
    pair.node().Live(source_, blocks_, block, 0, kTestBlockTokens, /*generation=*/2);
    pair.Run();
  }
  EXPECT_TRUE(Ended(pair, load).complete());
}

TEST_F(Following, FetchesWhatItWasTooSlowFor) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().Live(source_, blocks_, 1, 0, 2);
  pair.node().EndLiveGroup(track, 1, /*whole=*/false);
  pair.node().EndLive(track, moqt::DoneCode::kTooFarBehind);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.node().Live(source_, blocks_, 1, 2, 2);
  for (size_t block = 2; block < kBlocks; ++block) {
    pair.node().Live(source_, blocks_, block);
  }
  pair.Run();
  EXPECT_TRUE(Ended(pair, load).complete());
}

TEST_F(Following, GoesByTheCatalogWhereANodeLetsNobodySubscribe) {
  ClientPair pair;
  pair.node().script.refuse_live = true;
  const OperationId load = pair.Follow(target_, blocks_, {seconds(1), SIZE_MAX, seconds(2)});
  for (size_t block = 0; block < kBlocks; ++block) {
    pair.Pass(milliseconds(900));
    EXPECT_FALSE(pair.Loaded(load).has_value());
    pair.node().Live(source_, blocks_, block);
  }
  pair.Run();
  EXPECT_TRUE(Ended(pair, load).complete());
}

TEST_F(Following, OfANodeThatDoesNotAnswerEndsInTime) {
  ClientPair pair;
  pair.node().script.silent_on_live = true;
  pair.node().Hold(source_, blocks_, 0, 2);
  pair.Run();
  const OperationId load = pair.Follow(target_, blocks_, {{}, SIZE_MAX, seconds(2)});
  pair.Pass(milliseconds(1900));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(milliseconds(200));
  EXPECT_EQ(Ended(pair, load).loaded(), 2u);
}

// A damaged token ends what is followed; another track may have it right.
TEST_F(Following, WritesNothingThatIsDamaged) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
    Object object;
    object.location = {1, token};
    object.properties = token == 0 ? BlockHashProperties(blocks_[1]) : Properties();
    std::string payload = Codec::Plain(Rung::kBf16, TestShape())
                              ->EncodeBlock(source_.Pages().Block(1))[token]
                              .ToString();
    payload.back() = static_cast<char>(payload.back() ^ (token == 2 ? 1 : 0));
    object.payload = Bytes::Of(payload);
    pair.node().SendLive(track, object);
  }
  pair.Run();
  const LoadReport report = Ended(pair, load);
  EXPECT_EQ(report.loaded(), 1u);
  EXPECT_EQ(report.outcomes[1], BlockOutcome::kWrong);
  EXPECT_FALSE(pair.node().has_follower(track));
}

TEST_F(Following, CanBeCancelledAtAnyMoment) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.node().Live(source_, blocks_, 1, 0, 2);
  pair.Run();
  ASSERT_TRUE(pair.node().has_follower(track));
  pair.client().Cancel(load, pair.now());
  const LoadReport report = Ended(pair, load);
  EXPECT_EQ(report.loaded(), 1u);
  EXPECT_EQ(report.outcomes[1], BlockOutcome::kCancelled);
  pair.Run();
  EXPECT_FALSE(pair.node().has_follower(track));
}

TEST_F(Following, EndsWithTheSession) {
  ClientPair pair;
  const OperationId load = pair.Follow(target_, blocks_);
  pair.Run();
  pair.node().Live(source_, blocks_, 0);
  pair.Run();
  pair.pair().server().Close(moqt::SessionCode::kNoError, "gone");
  pair.Run();
  EXPECT_EQ(Ended(pair, load).outcomes[1], BlockOutcome::kNodeLost);
  const OperationId later = pair.Follow(target_, blocks_);
  EXPECT_EQ(Ended(pair, later).loaded(), 0u);
}

// Of the rungs that will do, the best is followed.
TEST_F(Following, TakesTheBestRungThatIsPublished) {
  ClientPair pair;
  const std::vector<Rung> rungs = {Rung::kBf16, Rung::kFp16};
  pair.node().Live(source_, blocks_, 0, 0, kTestBlockTokens, 1, Rung::kFp16);
  const TrackName best = pair.node().Live(source_, blocks_, 0, 0, kTestBlockTokens, 2);
  pair.Run();
  const OperationId load =
      *pair.client().Load(pair.client().Find(blocks_, 0, rungs), blocks_, target_.Pages(),
                          {Instant::max(), {}, FollowTerms{}}, pair.now());
  pair.Run();
  EXPECT_TRUE(pair.node().has_follower(best));
  EXPECT_EQ(pair.node().follows(), 1u);
  for (size_t block = 1; block < kBlocks; ++block) {
    pair.node().Live(source_, blocks_, block, 0, kTestBlockTokens, 2);
  }
  pair.Run();
  const LoadReport report = Ended(pair, load);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.rungs(), std::vector{Rung::kBf16});
}

}  // namespace
}  // namespace kvcast
