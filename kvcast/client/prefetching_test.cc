// Blocks that an engine says it will soon load.
#include "kvcast/client/prefetching.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

class Prefetch : public testing::Test {
 protected:
  static ClientOptions With(std::shared_ptr<BlockShelf> shelf) {
    ClientOptions options{TestKind()};
    options.shelf = std::move(shelf);
    return options;
  }
  OperationId Begin(const PrefetchTerms& terms = {}) {
    return pair_.client().Prefetch(pair_.client().Find(blocks_), blocks_, terms, pair_.now());
  }
  std::optional<PrefetchReport> Ended(OperationId operation) {
    return pair_.End<PrefetchEnded>(operation);
  }
  PrefetchReport Fetched() {
    const OperationId operation = Begin();
    pair_.Run();
    return Ended(operation).value();
  }
  LoadReport Loaded() {
    const OperationId operation = pair_.Load(target_, blocks_);
    pair_.Run();
    return pair_.Loaded(operation).value();
  }
  void ExpectLoaded(const LoadReport& report, size_t prefetched) {
    EXPECT_TRUE(report.complete()) << report.reason;
    EXPECT_EQ(report.prefetched, prefetched);
    for (size_t block = 0; block < report.loaded(); ++block) {
      EXPECT_EQ(target_.Block(block), source_.Block(block)) << block;
    }
  }
  size_t fetches() { return pair_.node().fetches().size(); }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  EngineMemory target_{kBlocks, /*seed=*/2};
  std::shared_ptr<BlockShelf> shelf_ = std::make_shared<BlockShelf>(1 << 20);
  ClientPair pair_{{}, {}, With(shelf_)};
};

TEST_F(Prefetch, LetsALoadAskNobody) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  const PrefetchReport fetched = Fetched();
  EXPECT_FALSE(fetched.fault.has_value()) << fetched.reason;
  EXPECT_EQ(fetched.blocks, kBlocks);
  EXPECT_EQ(fetched.held, 0u);
  EXPECT_EQ(fetches(), 1u);
  const LoadReport report = Loaded();
  ExpectLoaded(report, kBlocks);
  EXPECT_EQ(report.bytes, fetched.bytes);
  EXPECT_EQ(report.fetches, 0u);
  EXPECT_NE(report.WhyOf(0).find("prefetched"), std::string::npos) << report.WhyOf(0);
  EXPECT_EQ(fetches(), 1u);
  EXPECT_EQ(shelf_->bytes(), 0u);  // It is in pages now.
}

TEST_F(Prefetch, FetchesNothingTwice) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, kBlocks);
  const PrefetchReport again = Fetched();
  EXPECT_EQ(again.blocks, kBlocks);
  EXPECT_EQ(again.held, kBlocks);
  EXPECT_EQ(again.bytes, 0u);
  EXPECT_EQ(fetches(), 1u);
}

TEST_F(Prefetch, LeavesTheRestOfALoadToTheNode) {
  pair_.node().Hold(source_, blocks_, 0, 2);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, 2u);
  pair_.node().Hold(source_, blocks_, 2, kBlocks - 2);
  pair_.Run();
  const LoadReport report = Loaded();
  ExpectLoaded(report, 2);
  ASSERT_EQ(fetches(), 2u);
  EXPECT_EQ(pair_.node().fetches()[1].range.first.group, 2u);
}

TEST_F(Prefetch, IsForPagesThatHaveRoom) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, kBlocks);
  const OperationId load =
      *pair_.client().Load(pair_.client().Find(blocks_), blocks_, target_.Pages(),
                           {pair_.now() + seconds(10), {}, {}, /*room=*/2}, pair_.now());
  pair_.Run();
  EXPECT_EQ(target_.Block(1), source_.Block(1));
  EXPECT_NE(target_.Block(2), source_.Block(2));
  pair_.client().Room(load, kBlocks, pair_.now());
  pair_.Run();
  ExpectLoaded(pair_.Loaded(load).value(), kBlocks);
}

// Decoding it is as bounded as what comes from a node is.
TEST_F(Prefetch, IsTakenAsThereIsRoomForJobs) {
  LocalExecutor late(/*seed=*/3);
  ClientOptions options = With(shelf_);
  options.executor = &late;
  options.work.decoding_bytes_max = 1;
  ClientPair pair({}, {}, options);
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  (void)pair.client().Prefetch(pair.client().Find(blocks_), blocks_, {}, pair.now());
  pair.Run();
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  ASSERT_GT(late.waiting(), 0u);
  EXPECT_LE(late.waiting(), kTestBlockTokens);  // Of one block.
  EXPECT_GT(shelf_->bytes(), 0u);
  while (late.Step()) {
    pair.Run();
  }
  ExpectLoaded(pair.Loaded(load).value(), kBlocks);
}

TEST_F(Prefetch, StopsWhereThereIsNoMoreRoom) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, kBlocks);
  shelf_ = std::make_shared<BlockShelf>(shelf_->bytes() * 2 / 3);
  ClientPair pair({}, {}, With(shelf_));
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  const OperationId fetch =
      pair.client().Prefetch(pair.client().Find(blocks_), blocks_, {}, pair.now());
  pair.Run();
  const PrefetchReport report = pair.End<PrefetchEnded>(fetch).value();
  EXPECT_EQ(report.fault, BlockOutcome::kRefused);
  EXPECT_NE(report.reason.find(std::to_string(shelf_->bytes_max())), std::string::npos)
      << report.reason;
  EXPECT_GT(report.blocks, 0u);
  EXPECT_LT(report.blocks, kBlocks);
  EXPECT_LE(shelf_->bytes(), shelf_->bytes_max());
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  ExpectLoaded(pair.Loaded(load).value(), report.blocks);
}

TEST_F(Prefetch, KeepsWhatHasComeWhenItIsCancelled) {
  pair_.node().script.never_end = true;
  pair_.node().script.alter = [](std::vector<moqt::FetchItem>& items) {
    items.resize(2 * kTestBlockTokens + 1);
  };
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  const OperationId fetch = Begin();
  pair_.Run();
  EXPECT_FALSE(Ended(fetch).has_value());
  pair_.client().Cancel(fetch, pair_.now());
  pair_.Run();
  EXPECT_EQ(Ended(fetch)->fault, BlockOutcome::kCancelled);
  EXPECT_EQ(Ended(fetch)->blocks, 2u);
  EXPECT_EQ(pair_.node().cancelled(), 1u);
  pair_.node().script = {};
  ExpectLoaded(Loaded(), 2);
}

// Whoever waits for the blocks now gets them first, and they come once.
TEST_F(Prefetch, GivesWayToALoadOfTheSame) {
  pair_.node().script.hold_fetches = true;
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  const OperationId fetch = Begin();
  pair_.Run();
  const OperationId load = pair_.Load(target_, blocks_);
  pair_.Run();
  EXPECT_EQ(Ended(fetch)->fault, BlockOutcome::kCancelled);
  EXPECT_EQ(Ended(fetch)->reason, "It is being loaded.");
  EXPECT_EQ(pair_.node().cancelled(), 1u);
  pair_.node().ServeHeld();
  pair_.Run();
  ExpectLoaded(pair_.Loaded(load).value(), 0);
}

// A prompt that only begins alike loads nothing of what is behind that.
TEST_F(Prefetch, GoesOnBehindALoadOfAPromptThatBeginsAlike) {
  constexpr size_t kShared = 2;
  const std::vector<BlockHash> other = TestBlocks(kBlocks, /*family=*/1, kShared);
  pair_.node().script.hold_fetches = true;
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  const OperationId fetch = Begin();
  pair_.Run();
  EngineMemory pages(kBlocks, /*seed=*/3);
  const OperationId load = pair_.Load(pages, other);
  pair_.Run();
  EXPECT_FALSE(Ended(fetch).has_value());
  pair_.node().ServeHeld();
  pair_.Run();
  EXPECT_EQ(pair_.Loaded(load)->loaded(), kShared);
  EXPECT_EQ(pages.Block(1), source_.Block(1));
  ASSERT_TRUE(Ended(fetch).has_value());
  EXPECT_FALSE(Ended(fetch)->fault.has_value()) << Ended(fetch)->reason;
  EXPECT_EQ(Ended(fetch)->blocks, kBlocks);
  EXPECT_EQ(Ended(fetch)->held, kShared);
  pair_.node().script = {};
  ExpectLoaded(Loaded(), kBlocks - kShared);
}

// Nor does one whose pages end before it, and what nobody holds yet is waited for as before.
TEST_F(Prefetch, GoesOnBehindALoadOfItsBeginning) {
  pair_.node().Hold(source_, blocks_, 0, 2);
  pair_.node().script.hold_fetches = true;
  pair_.Run();
  const OperationId fetch = Begin({.deadline = pair_.now() + seconds(60), .waits = true});
  pair_.Run();
  const OperationId load = pair_.Load(target_, blocks_);
  pair_.node().ServeHeld();
  pair_.node().script = {};
  pair_.Run();
  EXPECT_EQ(pair_.Loaded(load)->loaded(), 2u);
  EXPECT_FALSE(Ended(fetch).has_value());
  pair_.node().Hold(source_, blocks_, 2, kBlocks - 2);
  pair_.Run();
  ASSERT_TRUE(Ended(fetch).has_value());
  EXPECT_EQ(Ended(fetch)->blocks, kBlocks);
  EXPECT_EQ(Ended(fetch)->held, 2u);
  ExpectLoaded(Loaded(), kBlocks - 2);
}

TEST_F(Prefetch, WaitsForBlocksThatNobodyHoldsYet) {
  pair_.node().Hold(source_, blocks_, 0, 1);
  pair_.Run();
  const OperationId fetch = Begin({.deadline = pair_.now() + seconds(60), .waits = true});
  for (size_t block = 1; block < kBlocks; ++block) {
    pair_.Run();
    EXPECT_FALSE(Ended(fetch).has_value());
    pair_.node().Hold(source_, blocks_, block, 1);
  }
  pair_.Run();
  EXPECT_EQ(Ended(fetch)->blocks, kBlocks);
  EXPECT_FALSE(Ended(fetch)->fault.has_value());
  ExpectLoaded(Loaded(), kBlocks);
}

TEST_F(Prefetch, WaitsNoLongerThanToItsDeadline) {
  const OperationId fetch = Begin({.deadline = pair_.now() + seconds(60), .waits = true});
  pair_.Pass(seconds(59));
  EXPECT_FALSE(Ended(fetch).has_value());
  pair_.Pass(seconds(2));
  EXPECT_EQ(Ended(fetch)->fault, BlockOutcome::kTooLate);
}

TEST_F(Prefetch, AsksTheNextWhoHoldsABlock) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/1);
  pair_.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/2);
  pair_.Run();
  pair_.node().script.alter = [&, asked = 0](std::vector<moqt::FetchItem>& items) mutable {
    if (asked++ == 0) {
      items = {moqt::RangeEnd{{kBlocks - 1, 1000}, true}};
    }
  };
  EXPECT_EQ(Fetched().blocks, kBlocks);
  ExpectLoaded(Loaded(), kBlocks);
}

TEST_F(Prefetch, HasWhatStandsBeforeABlockThatIsGone) {
  const TrackName track = pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  pair_.node().Evict(track, 3, /*unlist=*/false);
  const PrefetchReport report = Fetched();
  EXPECT_EQ(report.fault, BlockOutcome::kNotHeld);
  EXPECT_EQ(report.blocks, 3u);
}

TEST_F(Prefetch, SaysWhatCannotBeHad) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  pair_.node().script.refuse_fetch = true;
  const PrefetchReport report = Fetched();
  EXPECT_EQ(report.fault, BlockOutcome::kRefused);
  EXPECT_EQ(report.blocks, 0u);
  EXPECT_EQ(shelf_->bytes(), 0u);
}

TEST_F(Prefetch, TakesNoOtherBlockForTheOneThatIsWanted) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  pair_.node().script.alter = [&](std::vector<moqt::FetchItem>& items) {
    std::get<Object>(items[kTestBlockTokens]).properties = BlockHashProperties(blocks_[5]);
  };
  const PrefetchReport report = Fetched();
  EXPECT_EQ(report.fault, BlockOutcome::kWrong);
  EXPECT_EQ(report.blocks, 1u);
}

// What was damaged on its way is found when it is decoded, and asked for again.
TEST_F(Prefetch, CostsAFetchWhereItIsDamaged) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  pair_.node().script.alter = [](std::vector<moqt::FetchItem>& items) {
    Object& object = std::get<Object>(items[kTestBlockTokens + 1]);
    std::string payload = object.payload.ToString();
    payload.back() = static_cast<char>(payload.back() ^ 1);
    object.payload = Bytes::Of(payload);
  };
  EXPECT_EQ(Fetched().blocks, kBlocks);
  pair_.node().script.alter = {};
  ExpectLoaded(Loaded(), kBlocks - 1);
  ASSERT_EQ(fetches(), 2u);
  EXPECT_EQ(pair_.node().fetches()[1].range.first.group, 1u);
  EXPECT_EQ(pair_.node().fetches()[1].range.last.group, 1u);
}

// The same where the node left out what it should have had.
TEST_F(Prefetch, CostsAFetchWhereATokenIsMissing) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  pair_.node().script.alter = [](std::vector<moqt::FetchItem>& items) {
    items.erase(items.begin() + kTestBlockTokens + 1);
  };
  EXPECT_EQ(Fetched().blocks, kBlocks);
  pair_.node().script.alter = {};
  ExpectLoaded(Loaded(), kBlocks - 1);
}

TEST_F(Prefetch, IsAsGoodAtAnotherNode) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, kBlocks);
  ClientPair next({}, {}, With(shelf_));
  next.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/5);
  next.Run();
  const OperationId load = next.Load(target_, blocks_);
  next.Run();
  ExpectLoaded(next.Loaded(load).value(), kBlocks);
  EXPECT_TRUE(next.node().fetches().empty());
}

// Names never change their bytes, so what came from a node that is gone needs nobody to list it.
TEST_F(Prefetch, IsFoundWhereTheNextNodeDoesNotListIt) {
  pair_.node().Hold(source_, blocks_, 0, kBlocks);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, kBlocks);
  ClientPair next({}, {}, With(shelf_));
  next.node().Hold(source_, blocks_, 4, 1, /*generation=*/5);  // Of no use to others.
  next.Run();
  EXPECT_EQ(next.client().Find(blocks_).block_count(), kBlocks);
  const OperationId load = next.Load(target_, blocks_);
  next.Run();
  ExpectLoaded(next.Loaded(load).value(), kBlocks);
  EXPECT_TRUE(next.node().fetches().empty());
  EXPECT_TRUE(next.client().Find(blocks_).empty());  // Each is taken once.
}

TEST_F(Prefetch, IsFoundBeforeAndAmongWhatTheNextNodeLists) {
  pair_.node().Hold(source_, blocks_, 0, 4);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, 4u);
  ClientPair next({}, {}, With(shelf_));
  next.node().Hold(source_, blocks_, 1, 1, /*generation=*/5);
  next.node().Hold(source_, blocks_, 4, kBlocks - 4, /*generation=*/5);
  next.Run();
  const CacheMatch match = next.client().Find(blocks_);
  EXPECT_EQ(match.block_count(), kBlocks);
  const std::vector<LoadRun> runs = match.BestRuns();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first_block, 1u);
  EXPECT_EQ(runs[1].first_block, 4u);
  const OperationId load = next.Load(target_, blocks_);
  next.Run();
  ExpectLoaded(next.Loaded(load).value(), 4);
  EXPECT_EQ(next.node().fetches().size(), 1u);
}

// Whose turn comes second is told so at once, and computes.
TEST_F(Prefetch, IsTakenByOneOfTwoLoadsWhereNobodyListsIt) {
  pair_.node().Hold(source_, blocks_, 0, 3);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, 3u);
  ClientPair next({}, {}, With(shelf_));
  next.Run();
  const CacheMatch match = next.client().Find(blocks_);
  EXPECT_EQ(match.block_count(), 3u);
  const OperationId first = next.Load(target_, blocks_);
  EngineMemory pages(kBlocks, /*seed=*/3);
  const OperationId second =
      *next.client().Load(match, blocks_, pages.Pages(), {next.now() + seconds(10)}, next.now());
  next.Run();
  ExpectLoaded(next.Loaded(first).value(), 3);
  ASSERT_TRUE(next.Loaded(second).has_value());
  EXPECT_EQ(next.Loaded(second)->loaded(), 0u);
  EXPECT_EQ(next.Loaded(second)->outcomes[0], BlockOutcome::kNotHeld);
}

TEST_F(Prefetch, EndsALoadWhereItIsDamagedAndNobodyListsIt) {
  pair_.node().Hold(source_, blocks_, 0, 3);
  pair_.Run();
  pair_.node().script.alter = [](std::vector<moqt::FetchItem>& items) {
    Object& object = std::get<Object>(items[kTestBlockTokens + 1]);
    std::string payload = object.payload.ToString();
    payload.back() = static_cast<char>(payload.back() ^ 1);
    object.payload = Bytes::Of(payload);
  };
  EXPECT_EQ(Fetched().blocks, 3u);
  ClientPair next({}, {}, With(shelf_));
  next.Run();
  const OperationId load = next.Load(target_, blocks_);
  next.Run();
  ASSERT_TRUE(next.Loaded(load).has_value());
  EXPECT_EQ(next.Loaded(load)->loaded(), 1u);
  EXPECT_EQ(next.Loaded(load)->outcomes[1], BlockOutcome::kWrong);
}

// What is prefetched later may need the room of what nobody lists any more.
TEST_F(Prefetch, SaysSoWhereWhatWasHereIsGoneAgain) {
  pair_.node().Hold(source_, blocks_, 0, 3);
  pair_.Run();
  EXPECT_EQ(Fetched().blocks, 3u);
  ClientPair next({}, {}, With(shelf_));
  next.Run();
  const CacheMatch match = next.client().Find(blocks_);
  for (const BlockHash& block : blocks_) {
    (void)shelf_->Take(block, match.rungs(), {});
  }
  const OperationId again = next.client().Prefetch(match, blocks_, {}, next.now());
  next.Run();
  ASSERT_TRUE(next.End<PrefetchEnded>(again).has_value());
  EXPECT_EQ(next.End<PrefetchEnded>(again)->fault, BlockOutcome::kNotHeld);
}

}  // namespace
}  // namespace kvcast
