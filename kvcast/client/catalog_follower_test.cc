#include "kvcast/client/catalog_follower.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Follow : public testing::Test {
 protected:
  size_t Found(ClientPair& pair) { return pair.client().Find(blocks_).block_count(); }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory memory_{kBlocks, /*seed=*/1};
};

TEST_F(Follow, KnowsWhatTheNodeHeldBefore) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed < 10 ? 7 : 1 << 20;
    ClientPair pair(options);
    pair.node().Hold(memory_, blocks_, 0, 2);
    pair.node().Hold(memory_, blocks_, 2, 2);
    EXPECT_FALSE(pair.client().ready());
    pair.Run();
    EXPECT_TRUE(pair.client().ready());
    EXPECT_EQ(Found(pair), 4u);
  }
}

// A lookup means something only once all that the node had listed is in, not merely the beginning.
TEST_F(Follow, IsNotReadyBeforeItHasReadAllThatWasListed) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 30;
    ClientPair pair(options);
    for (size_t block = 0; block < kBlocks; ++block) {
      pair.node().Hold(memory_, blocks_, block, 1);  // A delta each, after an empty snapshot.
    }
    while (!pair.client().ready()) {
      ASSERT_TRUE(pair.Step());
    }
    EXPECT_EQ(Found(pair), kBlocks) << "seed " << seed;
  }
}

// What is listed while the past is being fetched comes too early, and is not waited for either.
TEST_F(Follow, FetchesAtOnceWhatWasListedMeanwhile) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 30;
    ClientPair pair(options);
    for (size_t block = 0; block < kBlocks; ++block) {
      pair.node().Hold(memory_, blocks_, block, 1);
      for (int moves = 0; moves < 12 && pair.pair().Step(); ++moves) {
        pair.node().OnInput();
        pair.client().OnInput(pair.now());
      }
    }
    pair.Run();  // And no time passes.
    EXPECT_EQ(Found(pair), kBlocks) << "seed " << seed;
  }
}

TEST_F(Follow, HearsOfWhatComesAndGoes) {
  ClientPair pair;
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);
  const TrackName track = pair.node().Hold(memory_, blocks_, 0, 5);
  pair.Run();
  EXPECT_EQ(Found(pair), 5u);
  pair.node().Evict(track, 3);
  pair.Run();
  EXPECT_EQ(Found(pair), 3u);
  pair.node().StartEpoch();
  pair.Run();
  EXPECT_EQ(Found(pair), 3u);
}

TEST_F(Follow, FetchesAgainWhatWasLostOnTheWay) {
  ClientPair pair;
  pair.Run();
  pair.node().LoseLive();
  pair.node().Hold(memory_, blocks_, 0, 2);
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);  // Nobody knows yet that something was said.
  pair.node().Hold(memory_, blocks_, 2, 2);
  pair.Run();
  EXPECT_EQ(Found(pair), 4u);
}

TEST_F(Follow, BeginsAgainAfterDamage) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.node().script.alter_catalog = [](Object& object) { object.payload = Bytes::Of("nonsense"); };
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);
  pair.node().script.alter_catalog = nullptr;
  pair.Pass(FollowedCatalog::kFirstPause);
  EXPECT_EQ(Found(pair), 4u);
}

// A node that goes on telling nonsense is asked ever less often.
TEST_F(Follow, PausesLongerAndLongerBetweenAttempts) {
  ClientPair pair;
  size_t fetched = 0;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.node().script.alter_catalog = [&](Object& object) {
    ++fetched;
    object.payload = Bytes::Of("nonsense");
  };
  pair.Pass(std::chrono::hours(1));
  EXPECT_GE(fetched, 60u);
  EXPECT_LE(fetched, 2 * 70u);
}

TEST_F(Follow, AnEpochThatFollowsEndsTheDamage) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.node().script.alter_catalog = [](Object& object) { object.payload = Bytes::Of("nonsense"); };
  pair.Run();
  pair.node().StartEpoch();
  pair.Run();
  EXPECT_EQ(Found(pair), 4u);
}

TEST_F(Follow, ForgetsANodeWhoseCatalogEnds) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.Run();
  EXPECT_EQ(Found(pair), 4u);
  pair.node().EndCatalog();
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);
  EXPECT_EQ(pair.client().index().track_count(), 0u);
}

TEST_F(Follow, ForgetsWhatANodeHeldBeforeItStartedAgain) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.Run();
  pair.node().Restart(/*boot=*/2);
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);
  pair.node().Hold(memory_, blocks_, 0, 1);
  pair.Run();
  EXPECT_EQ(Found(pair), 1u);
}

TEST_F(Follow, ForgetsEverythingWithTheSession) {
  ClientPair pair;
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.Run();
  pair.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
  pair.Run();
  EXPECT_EQ(Found(pair), 0u);
  EXPECT_TRUE(pair.client().lost());
  EXPECT_FALSE(pair.client().deadline().has_value());
  ASSERT_TRUE(std::holds_alternative<NodeLost>(pair.events().back()));
}

// A node with nothing to tell must not keep anybody waiting.
TEST_F(Follow, SettlesForNothingWhenNothingComes) {
  NodeScript script;
  script.silent_on_tracks = true;
  ClientPair pair({}, script);
  pair.Pass(milliseconds(499));
  EXPECT_FALSE(pair.client().ready());
  pair.Pass(milliseconds(1));
  EXPECT_TRUE(pair.client().ready());
  EXPECT_EQ(std::ranges::count_if(
                pair.events(),
                [](const ClientEvent& event) { return std::holds_alternative<NodeReady>(event); }),
            1);
}

// A node that has something to say and is slow is not one that has nothing.
TEST_F(Follow, WaitsLongerForWhatWasOffered) {
  NodeScript script;
  script.silent_on_catalogs = true;
  ClientPair pair({}, script);
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.Pass(seconds(3));
  EXPECT_FALSE(pair.client().ready());
  pair.Pass(CatalogFollower::kReadingPatience);
  EXPECT_TRUE(pair.client().ready());
}

TEST_F(Follow, DoesNotWaitForWhatIsNonsense) {
  NodeScript script;
  script.alter_catalog = [](Object& object) { object.payload = Bytes::Of("nonsense"); };
  ClientPair pair({}, script);
  pair.node().Hold(memory_, blocks_, 0, 4);
  pair.Pass(milliseconds(500));
  EXPECT_TRUE(pair.client().ready());
}

TEST_F(Follow, SettlesAtOnceWhenCatalogsAreRefused) {
  NodeScript script;
  script.refuse_tracks = true;
  ClientPair pair({}, script);
  pair.Run();
  EXPECT_TRUE(pair.client().ready());
}

TEST_F(Follow, WantsNoOtherTracks) {
  ClientPair pair;
  pair.Run();
  const TrackNamespace elsewhere = *TrackNamespace::Of({"some", "where", "else"});
  (void)*pair.pair().server().Publish(*TrackName::Of(elsewhere, "v1"), {}, {});
  const ModelScope other = *ModelScope::Of(Tenant::Public(), "other", Sha256::Of("other"));
  (void)*pair.pair().server().Publish(CatalogTrack{other.Namespace(), {}, {}}.Name(), {}, {});
  (void)*pair.pair().server().Subscribe(*TrackName::Of(elsewhere, "t"), {});
  pair.pair().Run();
  pair.client().OnInput(pair.now());
  pair.pair().Run();
  EXPECT_EQ(pair.pair().Take<moqt::RequestRefused>(pair.pair().server()).size(), 3u);
  EXPECT_FALSE(pair.pair().connection_closed());
}

}  // namespace
}  // namespace kvcast
