// Loads into pages that become free one after the other.
#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

class LoadingRoom : public testing::Test {
 protected:
  OperationId Load(ClientPair& pair, size_t room, std::optional<FollowTerms> follow = {}) {
    return *pair.client().Load(pair.client().Find(blocks_), blocks_, target_.Pages(),
                               {pair.now() + seconds(60), {}, follow, room}, pair.now());
  }
  void Room(ClientPair& pair, OperationId load, size_t room) {
    pair.client().Room(load, room, pair.now());
    pair.Run();
  }
  void ExpectLoaded(size_t blocks) const {
    const EngineMemory untouched(kBlocks, /*seed=*/2);
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(target_.Block(block), (block < blocks ? source_ : untouched).Block(block)) << block;
    }
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  EngineMemory target_{kBlocks, /*seed=*/2};
};

TEST_F(LoadingRoom, IsFilledAndNoMore) {
  ClientPair pair;
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  const OperationId load = Load(pair, /*room=*/0);
  pair.Run();
  EXPECT_TRUE(pair.node().fetches().empty());
  for (const size_t room : {2u, 1u, 3u, 5u}) {  // It does not become less.
    Room(pair, load, room);
    EXPECT_FALSE(pair.Loaded(load).has_value());
    ExpectLoaded(std::max<size_t>(room, 2));
  }
  Room(pair, load, SIZE_MAX);
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->complete());
  EXPECT_EQ(pair.node().fetches().size(), 4u);
  ExpectLoaded(kBlocks);
  Room(pair, load, 1);  // Of one that is over, this is nothing.
}

TEST_F(LoadingRoom, IsWaitedForUntilTheDeadline) {
  ClientPair pair;
  pair.node().Hold(source_, blocks_, 0, kBlocks);
  pair.Run();
  const OperationId load = Load(pair, /*room=*/3);
  pair.Pass(seconds(59));
  EXPECT_FALSE(pair.Loaded(load).has_value());
  pair.Pass(seconds(2));
  const LoadReport report = *pair.Loaded(load);
  EXPECT_EQ(report.loaded(), 3u);
  EXPECT_EQ(report.fault(), BlockOutcome::kTooLate);
  ExpectLoaded(3);
}

// What has no room does not come, and so it comes once.
TEST_F(LoadingRoom, IsWhatAPublicationIsFollowedFor) {
  ClientPair pair;
  const OperationId load = Load(pair, /*room=*/2, FollowTerms{.begin_within = seconds(60)});
  const TrackName track = pair.node().Live(source_, blocks_, 0);
  pair.Run();
  EXPECT_TRUE(pair.node().has_follower(track));
  for (const size_t block : {1u, 2u, 3u}) {
    pair.node().Live(source_, blocks_, block);
    pair.Run();
  }
  EXPECT_FALSE(pair.node().has_follower(track));
  ExpectLoaded(2);
  Room(pair, load, kBlocks);
  EXPECT_TRUE(pair.node().has_follower(track));
  EXPECT_EQ(pair.node().follows(), 2u);
  for (const size_t block : {4u, 5u}) {
    pair.node().Live(source_, blocks_, block);
    pair.Run();
  }
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->complete()) << pair.Loaded(load)->reason;
  ExpectLoaded(kBlocks);
}

// Of a cache that is being computed, what comes while there is no room is fetched when there is.
TEST_F(LoadingRoom, HoldsUpWhoFollows) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed % 2 == 0 ? 7 : 1 << 20;
    ClientPair pair(options);
    EngineMemory target(kBlocks, /*seed=*/2);
    Random random(seed);
    const OperationId load = *pair.client().Load(
        pair.client().Find(blocks_), blocks_, target.Pages(),
        {pair.now() + seconds(600), {}, FollowTerms{.begin_within = seconds(60)}, /*room=*/0},
        pair.now());
    size_t room = 0;
    for (size_t block = 0; block < kBlocks; ++block) {
      pair.node().Live(source_, blocks_, block);
      pair.Run();
      if (random.Below(2) == 0) {
        room += random.Below(3);
        Room(pair, load, room);
      }
    }
    pair.node().EndLive(TestKind().TrackOf(blocks_.back(), {std::byte{1}}).Name());
    pair.Pass(seconds(30));  // Longer than anybody else would be waited for.
    EXPECT_EQ(pair.Loaded(load).has_value(), room >= kBlocks) << "seed " << seed;
    Room(pair, load, kBlocks);
    const std::optional<LoadReport> report = pair.Loaded(load);
    ASSERT_TRUE(report.has_value()) << "seed " << seed;
    EXPECT_TRUE(report->complete()) << "seed " << seed << ": " << report->reason;
    for (size_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(target.Block(block), source_.Block(block)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kvcast
