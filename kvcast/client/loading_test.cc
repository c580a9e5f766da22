#include "kvcast/client/loading.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Items = std::vector<moqt::FetchItem>;

Object& ObjectAt(Items& items, Location location) {
  for (moqt::FetchItem& item : items) {
    if (auto* object = std::get_if<Object>(&item); object && object->location == location) {
      return *object;
    }
  }
  ADD_FAILURE() << "no object " << location.ToString();
  std::abort();
}

void Drop(Items& items, Location location) {
  std::erase_if(items, [&](const moqt::FetchItem& item) {
    const auto* object = std::get_if<Object>(&item);
    return object != nullptr && object->location == location;
  });
}

Bytes WithBitFlipped(const Bytes& payload, size_t at) {
  std::string text = payload.ToString();
  text[at] = static_cast<char>(text[at] ^ 1);
  return Bytes::Of(text);
}

// A node that holds a prompt of one engine, and another engine that loads it.
class Load : public testing::Test {
 protected:
  void Hold(ClientPair& pair, size_t first = 0, size_t count = kBlocks) {
    pair.node().Hold(source_, blocks_, first, count);
    pair.Run();
  }
  // What one answer, altered, makes of a load: how many blocks, and how the next one ended.
  LoadReport LoadAltered(std::function<void(Items&)> alter) {
    ClientPair pair;
    Hold(pair);
    pair.node().script.alter = std::move(alter);
    const OperationId load = pair.Load(target_, blocks_);
    pair.Run();
    const std::optional<LoadReport> report = pair.Loaded(load);
    EXPECT_TRUE(report.has_value());
    ExpectTruth(*report);
    return *report;
  }
  // Blocks that are said to be loaded are; of the others no token is anything but the right one
  // or what it was before.
  void ExpectTruth(const LoadReport& report) {
    const EngineMemory untouched(kBlocks, /*seed=*/2);
    for (size_t block = 0; block < kBlocks; ++block) {
      const size_t number = block - report.first_block;
      if (block >= report.first_block && number < report.outcomes.size() &&
          report.outcomes[number] == BlockOutcome::kLoaded) {
        EXPECT_EQ(target_.Block(block), source_.Block(block)) << block;
        continue;
      }
      for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
        EXPECT_TRUE(target_.Token(block, token) == source_.Token(block, token) ||
                    target_.Token(block, token) == untouched.Token(block, token))
            << "block " << block << " token " << token;
      }
    }
  }
  bool Untouched(size_t block) const {
    return target_.Block(block) == EngineMemory(kBlocks, /*seed=*/2).Block(block);
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  EngineMemory target_{kBlocks, /*seed=*/2};
};

TEST_F(Load, BringsAPromptFromOneEngineToAnother) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed < 10 ? 7 : 1 << 20;
    ClientPair pair(options);
    Hold(pair);
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    pair.Run();
    const std::optional<LoadReport> report = pair.Loaded(load);
    ASSERT_TRUE(report.has_value());
    EXPECT_TRUE(report->complete());
    EXPECT_EQ(report->outcomes.size(), kBlocks);
    EXPECT_EQ(report->fetches, 1u);
    EXPECT_EQ(report->reason, "");
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(target.Block(block), source_.Block(block));
    }
  }
}

TEST_F(Load, TellsOfEveryBlockInTheOrderOfThePrompt) {
  ClientPair pair;
  Hold(pair, 0, 2);
  pair.node().Hold(source_, blocks_, 2, 4, /*generation=*/2);
  pair.Run();
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.node().fetches().size(), 2u);
  size_t told = 0;
  for (const ClientEvent& event : pair.events()) {
    if (const auto* progress = std::get_if<LoadProgress>(&event)) {
      EXPECT_GT(progress->blocks, told);
      told = progress->blocks;
    }
  }
  EXPECT_EQ(told, kBlocks);
  EXPECT_EQ(pair.Loaded(load)->loaded(), kBlocks);
}

TEST_F(Load, SaysOfEachBlockWhatItCameAsAndWhy) {
  ClientPair pair;
  const TrackName first = pair.node().Hold(source_, blocks_, 0, 4, /*generation=*/1);
  pair.node().Hold(source_, blocks_, 0, 3, /*generation=*/2);
  pair.node().Hold(source_, blocks_, 4, 2, /*generation=*/3);
  pair.Run();
  pair.node().Evict(first, 1, /*unlist=*/false);
  pair.node().Evict(first, 3, /*unlist=*/false);
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  const LoadReport report = *pair.Loaded(load);
  ASSERT_EQ(report.loaded(), 3u);
  EXPECT_EQ(report.RungOf(0), Rung::kBf16);
  EXPECT_EQ(report.RungOf(2), Rung::kBf16);
  EXPECT_EQ(report.RungOf(3), std::nullopt);
  EXPECT_EQ(report.WhyOf(0).substr(0, 12), "blocks 0-3 a");
  // Asked for again, of another track.
  EXPECT_EQ(report.WhyOf(1).substr(0, 8), "blocks 1") << report.WhyOf(1);
  EXPECT_EQ(report.WhyOf(3), report.reason);
  EXPECT_EQ(report.WhyOf(4), "A block before it is missing.");
}

TEST_F(Load, LeavesAloneWhatTheEngineHas) {
  ClientPair pair;
  Hold(pair);
  const OperationId load = pair.Load(target_, blocks_, /*first_block=*/4);
  pair.Run();
  const LoadReport report = *pair.Loaded(load);
  EXPECT_EQ(report.first_block, 4u);
  EXPECT_EQ(report.outcomes.size(), 2u);
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(Untouched(3));
  EXPECT_EQ(target_.Block(4), source_.Block(4));
}

TEST_F(Load, OfNothingEndsAtOnce) {
  ClientPair pair;
  pair.Run();
  const OperationId load = pair.Load(target_, blocks_);
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->outcomes.empty());
  EXPECT_EQ(pair.node().fetches().size(), 0u);
}

TEST_F(Load, KeepsOnlyAFewFetchesOpen) {
  ClientPair pair;
  for (size_t block = 0; block < kBlocks; ++block) {
    pair.node().Hold(source_, blocks_, block, 1, static_cast<uint8_t>(block + 1));
  }
  pair.Run();
  pair.node().script.silent_on_fetch = true;
  (void)pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.node().fetches().size(), Loading::kFetchesMax);
  // The sooner in the prompt, the more urgent.
  EXPECT_LT(pair.node().fetches()[0].parameters.subscriber_priority,
            pair.node().fetches()[3].parameters.subscriber_priority);
}

TEST_F(Load, GoesOnToTheNextRunWhenOneIsDone) {
  ClientPair pair;
  for (size_t block = 0; block < kBlocks; ++block) {
    pair.node().Hold(source_, blocks_, block, 1, static_cast<uint8_t>(block + 1));
  }
  pair.Run();
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Loaded(load)->loaded(), kBlocks);
  EXPECT_EQ(pair.Loaded(load)->fetches, kBlocks);
}

// Hostile and broken nodes. Each block in question must be computed again, and none but right
// bytes may stand where a block is said to be loaded.

TEST_F(Load, RefusesAnotherBlockThanTheOneWanted) {
  const std::vector<BlockHash> others = TestBlocks(kBlocks, /*family=*/7);
  const LoadReport report = LoadAltered([&](Items& items) {
    ObjectAt(items, {2, 0}).properties = BlockHashProperties(others[2]);
  });
  EXPECT_EQ(report.loaded(), 2u);
  EXPECT_EQ(report.outcomes[2], BlockOutcome::kWrong);
  EXPECT_EQ(report.outcomes[3], BlockOutcome::kAfterGap);
  EXPECT_TRUE(Untouched(2));
  EXPECT_TRUE(Untouched(3));
}

TEST_F(Load, RefusesABlockWithoutAKeyOrWithABrokenOne) {
  const LoadReport none = LoadAltered([](Items& items) {
    ObjectAt(items, {0, 0}).properties = {};
  });
  EXPECT_EQ(none.loaded(), 0u);
  EXPECT_EQ(none.outcomes[0], BlockOutcome::kWrong);
  const LoadReport outside = LoadAltered([&](Items& items) {  // Where any relay may write.
    ObjectAt(items, {0, 0}).properties =
        PropertiesBuilder().Bytes(kBlockKeyProperty, AsText(blocks_[0].bytes)).Build();
  });
  EXPECT_EQ(outside.outcomes[0], BlockOutcome::kWrong);
  const LoadReport brief = LoadAltered([](Items& items) {
    ObjectAt(items, {0, 0}).properties =
        PropertiesBuilder()
            .Immutable(PropertiesBuilder().Bytes(kBlockKeyProperty, "short").Build())
            .Build();
  });
  EXPECT_EQ(brief.outcomes[0], BlockOutcome::kWrong);
  EXPECT_TRUE(Untouched(0));
}

TEST_F(Load, RefusesADamagedToken) {
  const size_t bytes = Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  for (size_t at = 0; at < bytes; ++at) {
    const LoadReport report = LoadAltered([&](Items& items) {
      Object& object = ObjectAt(items, {3, 1});
      object.payload = WithBitFlipped(object.payload, at);
    });
    EXPECT_EQ(report.loaded(), 3u);
    EXPECT_EQ(report.outcomes[3], BlockOutcome::kWrong) << report.reason;
  }
}

// Tokens wait for each other before they are decoded; what is wrong with one that waits is told,
// and not what came after it.
TEST_F(Load, TellsOfADamagedTokenWhateverFollowsIt) {
  const auto damaged = [](Items& items) {
    Object& object = ObjectAt(items, {2, 0});
    object.payload = WithBitFlipped(object.payload, object.payload.size() - 1);
  };
  const LoadReport gap = LoadAltered([&](Items& items) {
    damaged(items);
    Drop(items, {2, 1});
  });
  EXPECT_EQ(gap.loaded(), 2u);
  EXPECT_EQ(gap.outcomes[2], BlockOutcome::kWrong) << gap.reason;
  const LoadReport end = LoadAltered([&](Items& items) {
    damaged(items);
    items.resize(2 * kTestBlockTokens + 1);
  });
  EXPECT_EQ(end.loaded(), 2u);
  EXPECT_EQ(end.outcomes[2], BlockOutcome::kWrong) << end.reason;
}

TEST_F(Load, RefusesTokensOfAnotherSize) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{1000}}) {
    const LoadReport report = LoadAltered([&](Items& items) {
      ObjectAt(items, {1, 0}).payload = Bytes::Of(std::string(bytes, 'x'));
    });
    EXPECT_EQ(report.loaded(), 1u);
    EXPECT_EQ(report.outcomes[1], BlockOutcome::kWrong);
  }
}

TEST_F(Load, RefusesTokensOfAnotherRung) {
  const LoadReport report = LoadAltered([&](Items& items) {
    ObjectAt(items, {1, 2}).payload =
        Codec::Plain(Rung::kFp16, TestShape())->Encode(source_.Pages().Block(1), 2);
  });
  EXPECT_EQ(report.loaded(), 1u);
  EXPECT_EQ(report.outcomes[1], BlockOutcome::kWrong);
}

TEST_F(Load, NeedsEveryTokenOfABlock) {
  for (uint64_t missing = 0; missing < kTestBlockTokens; ++missing) {
    const LoadReport report = LoadAltered([&](Items& items) { Drop(items, {2, missing}); });
    EXPECT_EQ(report.loaded(), 2u);
    EXPECT_EQ(report.outcomes[2], BlockOutcome::kNotHeld);
  }
  const LoadReport last = LoadAltered([](Items& items) { items.pop_back(); });
  EXPECT_EQ(last.loaded(), kBlocks - 1);
  EXPECT_EQ(last.outcomes.back(), BlockOutcome::kNotHeld);
  const LoadReport none = LoadAltered([](Items& items) { items.clear(); });
  EXPECT_EQ(none.outcomes[0], BlockOutcome::kNotHeld);
}

// A group with more objects than a block has tokens was not made for this model.
TEST_F(Load, StopsWhereAGroupGoesOnBeyondItsBlock) {
  const LoadReport report = LoadAltered([](Items& items) {
    Object extra = ObjectAt(items, {1, kTestBlockTokens - 1});
    extra.location.object = kTestBlockTokens;
    items.insert(items.begin() + 2 * kTestBlockTokens, extra);
  });
  EXPECT_EQ(report.loaded(), 2u);
  EXPECT_EQ(report.outcomes[2], BlockOutcome::kWrong);
}

TEST_F(Load, DoesNotMindWhatComesAfterAllThatWasWanted) {
  ClientPair pair;
  Hold(pair, 0, 3);
  pair.node().Hold(source_, blocks_, 3, 3, /*generation=*/2);
  pair.Run();
  pair.node().script.alter = [](Items& items) {
    Object extra = std::get<Object>(items.back());
    extra.location.object = kTestBlockTokens;
    items.push_back(extra);
  };
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_TRUE(pair.Loaded(load)->complete());
  ExpectTruth(*pair.Loaded(load));
}

// Nobody needs what stands behind a gap, and the way is free for what stands before it.
TEST_F(Load, StopsAskingForWhatFollowsAGap) {
  ClientPair pair;
  for (size_t run = 0; run < 3; ++run) {
    pair.node().Hold(source_, blocks_, run * 2, 2, static_cast<uint8_t>(run + 1));
  }
  pair.Run();
  pair.node().script.never_end = true;
  pair.node().script.alter = [](Items& items) {
    const uint64_t group = std::get<Object>(items.front()).location.group;
    if (group == 0) {
      items.resize(kTestBlockTokens + 1);  // Slow.
    } else if (group == 2) {
      std::get<Object>(items.back()).payload = Bytes::Of("wrong");
    } else {
      items.pop_back();  // Slow as well.
    }
  };
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  EXPECT_EQ(pair.node().cancelled(), 2u);
  pair.Pass(seconds(10));
  EXPECT_EQ(pair.Loaded(load)->loaded(), 1u);
  EXPECT_EQ(pair.Loaded(load)->outcomes[1], BlockOutcome::kTooLate);
}

TEST_F(Load, TakesANodesWordThatItDoesNotKnow) {
  for (const bool unknown : {false, true}) {
    const LoadReport report = LoadAltered([&](Items& items) {
      items.resize(2 * kTestBlockTokens);
      items.push_back(moqt::RangeEnd{{kBlocks - 1, 10}, unknown});
    });
    EXPECT_EQ(report.loaded(), 2u);
    EXPECT_EQ(report.outcomes[2], BlockOutcome::kNotHeld);
  }
}

TEST_F(Load, DoesNotMindGapsBehindTheLastTokenOfABlock) {
  const LoadReport report = LoadAltered([](Items& items) {
    items.insert(items.begin() + 2 * kTestBlockTokens, moqt::RangeEnd{{1, 1000}, false});
  });
  EXPECT_TRUE(report.complete());
}

TEST_F(Load, LosesOnlyWhatWasEvicted) {
  ClientPair pair;
  const TrackName track = pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  pair.node().Evict(track, 4, /*unlist=*/false);
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Loaded(load)->loaded(), 4u);
  EXPECT_EQ(pair.Loaded(load)->outcomes[4], BlockOutcome::kNotHeld);
  ExpectTruth(*pair.Loaded(load));
}

// Two engines have published the same prompt: what one of them has lost the other may have.
TEST_F(Load, AsksAnotherTrackForWhatOneCouldNotGive) {
  ClientPair pair;
  const TrackName first = pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/1);
  const TrackName second = pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/2);
  pair.Run();
  pair.node().Evict(first, 1, /*unlist=*/false);
  pair.node().Evict(second, 4, /*unlist=*/false);
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  const std::optional<LoadReport> report = pair.Loaded(load);
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->complete()) << report->reason;
  ExpectTruth(*report);
  size_t blocks = 0;  // Each comes from one place that is told.
  for (const LoadRun& run : report->runs) {
    EXPECT_EQ(run.first_block, blocks);
    blocks = run.end_block();
  }
  EXPECT_EQ(blocks, kBlocks);
}

TEST_F(Load, DoesNotBelieveATrackThatWasWrongOnce) {
  ClientPair pair;
  pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/1);
  pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/2);
  pair.Run();
  bool first = true;
  pair.node().script.alter = [&](Items& items) {
    if (std::exchange(first, false)) {
      ObjectAt(items, {2, 1}).payload = Bytes::Of("wrong");
    }
  };
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_TRUE(pair.Loaded(load)->complete());
  EXPECT_EQ(pair.node().fetches().size(), 2u);
  EXPECT_NE(pair.node().fetches()[0].track, pair.node().fetches()[1].track);
  EXPECT_EQ(pair.node().fetches()[1].range.first.group, 2u);
  ExpectTruth(*pair.Loaded(load));
}

TEST_F(Load, EndsWhereNobodyHasTheBlock) {
  ClientPair pair;
  const TrackName first = pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/1);
  const TrackName second = pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/2);
  pair.Run();
  pair.node().Evict(first, 3, /*unlist=*/false);
  pair.node().Evict(second, 3, /*unlist=*/false);
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Loaded(load)->loaded(), 3u);
  EXPECT_EQ(pair.Loaded(load)->outcomes[3], BlockOutcome::kNotHeld);
  ExpectTruth(*pair.Loaded(load));
}

TEST_F(Load, ToldNoIsToldSo) {
  for (const auto& [code, outcome] :
       {std::pair(moqt::RequestCode::kUnauthorized, BlockOutcome::kRefused),
        std::pair(moqt::RequestCode::kDoesNotExist, BlockOutcome::kNotHeld),
        std::pair(moqt::RequestCode::kInvalidRange, BlockOutcome::kNotHeld)}) {
    ClientPair pair;
    Hold(pair);
    pair.node().script.refuse_fetch = true;
    pair.node().script.refusal = code;
    const OperationId load = pair.Load(target_, blocks_);
    pair.Run();
    EXPECT_EQ(pair.Loaded(load)->loaded(), 0u);
    EXPECT_EQ(pair.Loaded(load)->outcomes[0], outcome);
    EXPECT_NE(pair.Loaded(load)->reason.find("by script"), std::string::npos);
  }
}

TEST_F(Load, KeepsWhatCameBeforeTheAnswerBrokeOff) {
  for (size_t items = 1; items < kBlocks * kTestBlockTokens; ++items) {
    ClientPair pair;
    Hold(pair);
    pair.node().script.reset_after = items;
    const OperationId load = pair.Load(target_, blocks_);
    pair.Run();
    const std::optional<LoadReport> report = pair.Loaded(load);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->loaded(), items / kTestBlockTokens);
    EXPECT_EQ(report->outcomes[report->loaded()], BlockOutcome::kNotHeld);
    ExpectTruth(*report);
  }
}

// A stream that is reset before its first byte arrives cannot be told from one that never came.
TEST_F(Load, EndsInTimeWhenTheAnswerIsResetBeforeItComes) {
  for (size_t items = 0; items < kBlocks * kTestBlockTokens; ++items) {
    ClientPair pair;
    Hold(pair);
    pair.node().script.reset_after = items;
    pair.node().script.reset_at_once = true;
    const OperationId load = pair.Load(target_, blocks_);
    pair.Pass(seconds(10));
    ASSERT_TRUE(pair.Loaded(load).has_value());
    EXPECT_FALSE(pair.Loaded(load)->complete());
    ExpectTruth(*pair.Loaded(load));
  }
}

TEST_F(Load, EndsAtItsDeadlineWhenTheNodeIsSilent) {
  ClientPair pair;
  Hold(pair);
  pair.node().script.silent_on_fetch = true;
  const OperationId load = pair.Load(target_, blocks_);
  pair.Pass(seconds(10) - Duration(1));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(Duration(1));
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_EQ(pair.Loaded(load)->outcomes[0], BlockOutcome::kTooLate);
  pair.Run();
  EXPECT_EQ(pair.node().cancelled(), 1u);
}

TEST_F(Load, KeepsAtItsDeadlineWhatIsThere) {
  ClientPair pair;
  Hold(pair);
  pair.node().script.alter = [](Items& items) { items.resize(3 * kTestBlockTokens + 1); };
  pair.node().script.never_end = true;
  const OperationId load = pair.Load(target_, blocks_);
  pair.Pass(seconds(10));
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_EQ(pair.Loaded(load)->loaded(), 3u);
  EXPECT_EQ(pair.Loaded(load)->outcomes[3], BlockOutcome::kTooLate);
  ExpectTruth(*pair.Loaded(load));
}

// The last token is what counts, not how the answer ends.
TEST_F(Load, DoesNotWaitForAnEndItDoesNotNeed) {
  ClientPair pair;
  Hold(pair);
  pair.node().script.never_end = true;
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->complete());
}

TEST_F(Load, FailsCleanlyWhenTheNodeIsLost) {
  ClientPair pair;
  Hold(pair);
  pair.node().script.alter = [](Items& items) { items.resize(2 * kTestBlockTokens + 2); };
  pair.node().script.never_end = true;
  const OperationId load = pair.Load(target_, blocks_);
  pair.Run();
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
  pair.Run();
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_EQ(pair.Loaded(load)->loaded(), 2u);
  EXPECT_EQ(pair.Loaded(load)->outcomes[2], BlockOutcome::kNodeLost);
  ExpectTruth(*pair.Loaded(load));
}

// An engine that gives a request up uses its pages for another at once.
TEST_F(Load, TouchesNoPageOnceCancelled) {
  for (size_t steps = 0; steps < 60; ++steps) {
    moqt::SessionPair::Options options;
    options.cut_max = 100;
    options.seed = steps;
    ClientPair pair(options);
    Hold(pair);
    EngineMemory target(kBlocks, /*seed=*/3);
    const OperationId load = pair.Load(target, blocks_);
    for (size_t step = 0; step < steps && pair.pair().Step(); ++step) {
      pair.node().OnInput();
      pair.client().OnInput(pair.now());
    }
    pair.client().Cancel(load, pair.now());
    ASSERT_TRUE(pair.Loaded(load).has_value());
    std::vector<std::string> then;
    for (size_t block = 0; block < kBlocks; ++block) {
      then.push_back(target.Block(block));
    }
    pair.Run();
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(target.Block(block), then[block]);
    }
    EXPECT_EQ(pair.pair().client().untaken_bytes(), 0u);
  }
}

TEST_F(Load, RefusesPagesThatCannotTakeIt) {
  ClientPair pair;
  Hold(pair);
  const EngineMemory small(kBlocks - 1, 1);
  const CacheMatch match = pair.client().Find(blocks_);
  EXPECT_EQ(pair.client().Load(match, blocks_, small.Pages(), {}, pair.now()).error().code(),
            ErrorCode::kInvalid);
  EXPECT_EQ(
      pair.client().Load(match, TestBlocks(2), target_.Pages(), {}, pair.now()).error().code(),
      ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvcast
