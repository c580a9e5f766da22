// What loads and publications make of jobs that are done late, and in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/client/client_pair_test.h"
#include "kvcast/client/local_executor.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Items = std::vector<moqt::FetchItem>;

constexpr uint64_t kSeeds = 60;

Bytes Damaged(const Bytes& payload) {
  std::string text = payload.ToString();
  text.back() = static_cast<char>(text.back() ^ 1);
  return Bytes::Of(text);
}

// Flips a bit of each of these objects.
void Damage(Items& items, const std::vector<Location>& locations) {
  for (moqt::FetchItem& item : items) {
    auto* object = std::get_if<Object>(&item);
    if (object != nullptr && std::ranges::find(locations, object->location) != locations.end()) {
      object->payload = Damaged(object->payload);
    }
  }
}

// A client whose jobs wait until the test has them run.
class Work : public testing::Test {
 protected:
  // Jobs of so many objects.
  explicit Work(size_t objects = 1) { work_.job_objects_max = objects; }

  ClientPair& Begin(uint64_t seed) {
    pair_.reset();
    executor_.emplace(seed);
    ClientOptions options{TestKind()};
    options.executor = &*executor_;
    options.work = work_;
    moqt::SessionPair::Options pair;
    pair.seed = seed;
    pair.cut_max = seed % 2 == 0 ? 17 : 1 << 20;
    return pair_.emplace(pair, NodeScript(), options);
  }
  // Until nothing moves any more and all jobs are done.
  void RunAll() {
    do {
      pair_->Run();
      most_waiting_ = std::max(most_waiting_, executor_->waiting());
    } while (executor_->Step());
  }
  std::vector<std::string> Read(const EngineMemory& memory) {
    std::vector<std::string> blocks;
    for (size_t block = 0; block < kBlocks; ++block) {
      blocks.push_back(memory.Block(block));
    }
    return blocks;
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  WorkLimits work_;
  std::optional<LocalExecutor> executor_;
  std::optional<ClientPair> pair_;
  size_t most_waiting_ = 0;
};

TEST_F(Work, DoneInAnyOrderLoadsAPrompt) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    EXPECT_TRUE(pair.Loaded(load)->complete()) << "seed " << seed;
    EXPECT_EQ(pair.Loaded(load)->fetches, 1u);
    EXPECT_EQ(Read(target), Read(source_)) << "seed " << seed;
    size_t told = 0;
    for (const ClientEvent& event : pair.events()) {
      if (const auto* progress = std::get_if<LoadProgress>(&event)) {
        EXPECT_GT(progress->blocks, told);
        told = progress->blocks;
      }
    }
    EXPECT_EQ(told, kBlocks);
  }
  EXPECT_GT(most_waiting_, kBlocks);  // Of several blocks, then.
}

TEST_F(Work, IsCountedOnlyOnceItIsDone) {
  ClientPair& pair = Begin(1);
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  EngineMemory target(kBlocks, /*seed=*/2);
  const OperationId load = pair.Load(target, blocks_);
  pair.Run();
  ASSERT_GT(executor_->waiting(), 0u);
  do {
    size_t told = 0;
    for (const ClientEvent& event : pair.events()) {
      const auto* progress = std::get_if<LoadProgress>(&event);
      told = progress ? progress->blocks : told;
    }
    for (size_t block = 0; block < told; ++block) {
      EXPECT_EQ(target.Block(block), source_.Block(block)) << block << " of " << told;
    }
    EXPECT_EQ(pair.Loaded(load).has_value(), executor_->waiting() == 0);
    if (!executor_->Step()) {
      break;
    }
    pair.client().OnInput(pair.now());
  } while (true);
}

// What is not decoded yet stays with the session, and so with the node.
TEST_F(Work, ThatWaitsIsBounded) {
  const size_t object = Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  work_.decoding_bytes_max = 3 * object;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    EXPECT_TRUE(pair.Loaded(load)->complete()) << "seed " << seed;
    EXPECT_EQ(Read(target), Read(source_)) << "seed " << seed;
  }
  EXPECT_EQ(most_waiting_, 3u);
}

// Their pages may be freed then.
TEST_F(Work, IsNotDoneForALoadThatIsOver) {
  const std::vector<std::function<void(ClientPair&, OperationId)>> ends = {
      [](ClientPair& pair, OperationId load) { pair.client().Cancel(load, pair.now()); },
      [](ClientPair& pair, OperationId) { pair.Pass(seconds(11)); },
      [](ClientPair& pair, OperationId) {
        pair.pair().server().Close(moqt::SessionCode::kInternalError, "by the test");
        pair.pair().Run();
        pair.client().OnInput(pair.now());
      },
  };
  for (size_t end = 0; end < ends.size(); ++end) {
    ClientPair& pair = Begin(end + 1);
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    pair.Run();
    ASSERT_GT(executor_->waiting(), 4u) << end;
    executor_->Step();
    const size_t run = executor_->run();
    ends[end](pair, load);
    ASSERT_TRUE(pair.Loaded(load).has_value()) << end;
    EXPECT_LT(pair.Loaded(load)->loaded(), kBlocks) << end;
    const std::vector<std::string> then = Read(target);
    EXPECT_FALSE(executor_->Step()) << end;
    EXPECT_EQ(executor_->run(), run) << end;
    EXPECT_EQ(Read(target), then) << end;
  }
}

TEST_F(Work, IsNotDoneForAClientThatIsGone) {
  ClientPair& pair = Begin(1);
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  EngineMemory target(kBlocks, /*seed=*/2);
  (void)pair.Load(target, blocks_);
  pair.Run();
  ASSERT_GT(executor_->waiting(), 0u);
  pair_.reset();
  EXPECT_EQ(executor_->waiting(), 0u);
}

// A second source's objects go to the same pages as those of the first that are not decoded yet.
TEST_F(Work, NeverMixesTwoSourcesInABlock) {
  const EngineMemory other(kBlocks, /*seed=*/7);
  for (uint64_t seed = 0; seed < 4 * kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    pair.node().Hold(source_, blocks_, 0, kBlocks, /*generation=*/1);
    pair.node().Hold(other, blocks_, 0, kBlocks, /*generation=*/2);
    size_t answers = 0;
    const Location damaged{seed % kBlocks, seed % kTestBlockTokens};
    pair.node().script.alter = [&](Items& items) {
      if (answers++ == 0) {
        Damage(items, {damaged});
      }
    };
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    EXPECT_TRUE(pair.Loaded(load)->complete()) << "seed " << seed;
    EXPECT_EQ(pair.Loaded(load)->fetches, 2u);
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_TRUE(target.Block(block) == source_.Block(block) ||
                  target.Block(block) == other.Block(block))
          << "seed " << seed << " block " << block;
    }
  }
}

TEST_F(Work, TellsOfWhatIsDamagedFirst) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.node().script.alter = [](Items& items) { Damage(items, {{2, 1}, {2, 3}, {4, 0}}); };
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    const LoadReport report = *pair.Loaded(load);
    EXPECT_EQ(report.loaded(), 2u) << "seed " << seed;
    EXPECT_EQ(report.outcomes[2], BlockOutcome::kWrong);
    EXPECT_EQ(report.reason.find("Token {2, 1}"), 0u) << report.reason;
  }
}

// What had come whole counts, although it was not decoded yet when no more came.
TEST_F(Work, IsStillDoneWhenTheNodeGivesUp) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    work_.decoding_bytes_max = seed % 4 < 2 ? 1 : WorkLimits().decoding_bytes_max;
    ClientPair& pair = Begin(seed);
    pair.node().Hold(source_, blocks_, 0, kBlocks);
    pair.node().script.reset_after = 3 * kTestBlockTokens + 1;
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Load(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    const LoadReport report = *pair.Loaded(load);
    EXPECT_EQ(report.loaded(), 3u) << "seed " << seed;
    EXPECT_EQ(report.outcomes[3], BlockOutcome::kNotHeld);
  }
}

TEST_F(Work, DoneInAnyOrderFollowsAPublication) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    TrackName track = pair.node().Live(source_, blocks_, 0);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Follow(target, blocks_);
    for (size_t block = 1; block < kBlocks; ++block) {
      pair.Run();
      pair.node().Live(source_, blocks_, block, 0, 2);
      if (seed % 3 != 0) {
        executor_->Step();
      }
      pair.Run();
      pair.node().Live(source_, blocks_, block, 2, 2);
    }
    pair.node().EndLive(track);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    EXPECT_TRUE(pair.Loaded(load)->complete()) << "seed " << seed;
    EXPECT_EQ(Read(target), Read(source_)) << "seed " << seed;
  }
}

// Who follows takes no more than who fetches: the node waits, too.
TEST_F(Work, ThatWaitsIsBoundedWhereAPublicationIsFollowed) {
  const size_t object = Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  work_.decoding_bytes_max = 3 * object;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    const TrackName track = pair.node().Live(source_, blocks_, 0);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Follow(target, blocks_);
    pair.Run();
    for (size_t block = 1; block < kBlocks; ++block) {
      pair.node().Live(source_, blocks_, block);
      pair.Run();
      most_waiting_ = std::max(most_waiting_, executor_->waiting());
    }
    pair.node().EndLive(track);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value()) << "seed " << seed;
    EXPECT_TRUE(pair.Loaded(load)->complete()) << "seed " << seed;
    EXPECT_EQ(Read(target), Read(source_)) << "seed " << seed;
  }
  EXPECT_EQ(most_waiting_, 3u);
}

// Who comes in the middle of a block has its beginning fetched. However long that takes, what comes
// behind it stays with the session.
TEST_F(Work, IsNotPiledUpBehindABlockThatWasHalfThere) {
  work_.decoding_bytes_max = 1;
  for (const bool looks : {true, false}) {
    ClientPair& pair = Begin(/*seed=*/1);
    pair.node().script.hold_fetches = true;
    const TrackName track = pair.node().Live(source_, blocks_, 0);
    pair.node().Live(source_, blocks_, 1, 0, 1);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Follow(target, blocks_);
    RunAll();
    ASSERT_TRUE(pair.node().follower(track).has_value());
    const moqt::RequestId request = *pair.node().follower(track);
    pair.node().Live(source_, blocks_, 1, 1, kTestBlockTokens - 1);
    RunAll();
    if (looks) {
      size_t left = 0;
      while (const auto item = pair.pair().client().Take(request)) {
        left += std::holds_alternative<moqt::ReceivedObject>(*item) ? 1u : 0u;
      }
      EXPECT_EQ(left, kTestBlockTokens - 2);
      continue;
    }
    pair.node().script.hold_fetches = false;
    pair.node().ServeHeld();
    for (size_t block = 2; block < kBlocks; ++block) {
      pair.node().Live(source_, blocks_, block);
    }
    pair.node().EndLive(track);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value());
    EXPECT_TRUE(pair.Loaded(load)->complete()) << pair.Loaded(load)->reason;
    EXPECT_EQ(Read(target), Read(source_));
  }
}

class WorkOfManyObjects : public Work {
 protected:
  WorkOfManyObjects() : Work(/*objects=*/1000) {}
};

// Each block would have a little of it wait for more.
TEST_F(WorkOfManyObjects, IsNotCollectedForEachOfManyBlocks) {
  for (const size_t together : {kBlocks, size_t{2}}) {
    work_.live_blocks_max = together;
    ClientPair& pair = Begin(/*seed=*/2);
    const TrackName track = pair.node().Live(source_, blocks_, 0);
    pair.Run();
    EngineMemory target(kBlocks, /*seed=*/2);
    const OperationId load = pair.Follow(target, blocks_);
    RunAll();
    const size_t before = executor_->run();
    for (size_t block = 1; block < kBlocks; ++block) {
      pair.node().Live(source_, blocks_, block, 0, 2);
    }
    RunAll();
    EXPECT_EQ(executor_->run() > before, together < kBlocks);
    for (size_t block = 1; block < kBlocks; ++block) {
      pair.node().Live(source_, blocks_, block, 2, 2);
    }
    pair.node().EndLive(track);
    RunAll();
    ASSERT_TRUE(pair.Loaded(load).has_value());
    EXPECT_TRUE(pair.Loaded(load)->complete()) << pair.Loaded(load)->reason;
    EXPECT_EQ(Read(target), Read(source_));
  }
}

// What the node has of a prompt, from whoever.
std::vector<std::string> Held(ClientPair& pair, const std::vector<BlockHash>& blocks) {
  std::vector<std::string> held(blocks.size());
  for (const auto& [track, groups] : pair.node().tracks()) {
    for (const auto& [group, objects] : groups) {
      held[group].clear();
      for (const Object& object : objects) {
        held[group] += object.payload.ToString();
      }
    }
  }
  return held;
}

std::vector<std::string> Encoded(const EngineMemory& memory) {
  std::vector<std::string> blocks;
  for (size_t block = 0; block < kBlocks; ++block) {
    std::string& text = blocks.emplace_back();
    for (const Bytes& object :
         Codec::Plain(Rung::kBf16, TestShape())->EncodeBlock(memory.Pages().Block(block))) {
      text += object.ToString();
    }
  }
  return blocks;
}

TEST_F(Work, DoneInAnyOrderPublishesInOrder) {
  const size_t object = Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    work_.job_objects_max = 1 + seed % 3;
    work_.encoded_bytes_max = seed % 2 == 0 ? 1 << 20 : object;
    ClientPair& pair = Begin(seed);
    const OperationId publish = pair.Publish(source_, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->reason, "") << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
    EXPECT_EQ(Held(pair, blocks_), Encoded(source_)) << "seed " << seed;
  }
}

TEST_F(Work, AheadOfWhatIsSentIsBounded) {
  work_.encoded_bytes_max = 3 * Codec::Plain(Rung::kBf16, TestShape())->ObjectBytesMax();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    const OperationId publish = pair.Publish(source_, blocks_);
    RunAll();
    EXPECT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
  }
  EXPECT_GT(most_waiting_, 1u);
  EXPECT_LE(most_waiting_, 3u);
}

TEST_F(Work, IsNotDoneForAPublicationThatIsOver) {
  const std::vector<std::function<void(ClientPair&, OperationId)>> ends = {
      [](ClientPair& pair, OperationId publish) { pair.client().Cancel(publish, pair.now()); },
      [](ClientPair& pair, OperationId) {
        pair.pair().server().Close(moqt::SessionCode::kInternalError, "by the test");
        pair.pair().Run();
        pair.client().OnInput(pair.now());
      },
      [](ClientPair& pair, OperationId) {
        pair.pair().server().Cancel(*pair.node().last_publish(), moqt::ResetCode::kExcessiveLoad);
        pair.Run();
      },
  };
  for (size_t end = 0; end < ends.size(); ++end) {
    ClientPair& pair = Begin(end + 1);
    const OperationId publish = pair.Publish(source_, blocks_);
    pair.Run();
    ASSERT_GT(executor_->waiting(), 4u) << end;
    executor_->Step();
    const size_t run = executor_->run();
    ends[end](pair, publish);
    ASSERT_TRUE(pair.Published(publish).has_value()) << end;
    EXPECT_TRUE(pair.Published(publish)->fault.has_value()) << end;
    EXPECT_FALSE(executor_->Step()) << end;
    EXPECT_EQ(executor_->run(), run) << end;
  }
}

// What is encoded ahead is of blocks that are computed.
TEST_F(Work, ReadsNoBlockBeforeItIsReady) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    EngineMemory engine(kBlocks, /*seed=*/5);
    const OperationId publish =
        *pair.client().Publish(blocks_, engine.Pages(), {{}, {}, {}, /*ready=*/0}, pair.now());
    for (size_t block = 0; block < kBlocks; ++block) {
      pair.Run();
      engine.CopyBlock(source_, block);
      pair.client().Ready(publish, block + 1, pair.now());
      executor_->Step();
    }
    RunAll();
    ASSERT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
    EXPECT_EQ(Held(pair, blocks_), Encoded(source_)) << "seed " << seed;
  }
}

// What was encoded ahead need not be sent after all.
TEST_F(Work, IsInVainForBlocksThatSomebodyElsePublishesMeanwhile) {
  size_t skipped = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    const OperationId publish = pair.Publish(source_, blocks_);
    pair.Run();
    executor_->Step();
    pair.Run();
    pair.node().Hold(source_, blocks_, 2, 2, /*generation=*/1);
    RunAll();
    ASSERT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
    const PublishReport report = *pair.Published(publish);
    EXPECT_EQ(report.reason, "");
    EXPECT_EQ(report.listed + report.skipped, kBlocks);
    EXPECT_EQ(Held(pair, blocks_), Encoded(source_)) << "seed " << seed;
    skipped += report.skipped;
  }
  EXPECT_GT(skipped, kSeeds);
}

// The node is not to blame for it.
TEST_F(Work, ThatTakesLongCostsNoPatience) {
  ClientPair& pair = Begin(1);
  const OperationId publish = pair.Publish(source_, blocks_);
  pair.Run();
  ASSERT_GT(executor_->waiting(), 0u);
  pair.Pass(seconds(100));
  EXPECT_FALSE(pair.Published(publish).has_value());
  RunAll();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->reason, "");
}

}  // namespace
}  // namespace kvcast
