#include "kvcast/catalog/holdings_feed.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "kvcast/base/random.h"
#include "kvcast/catalog/writer.h"

namespace kvcast {
namespace {

TrackName FeedTrack(uint64_t id) { return *TrackName::Of(TrackNamespace(), std::to_string(id)); }

// Somebody who is told only of changes.
class Hearsay {
 public:
  void Hear(HoldingsFeed& feed) {
    for (const HoldingsChange& change : feed.TakeChanges()) {
      const Held held{change.track, change.group, change.block.bytes};
      // Nothing comes that is there already, and nothing goes that is not.
      EXPECT_TRUE(change.added ? held_.insert(held).second : held_.erase(held) == 1);
    }
  }
  bool Agrees(const Holdings& holdings) const {
    std::set<Held> there;
    for (const auto& [id, track] : holdings.tracks()) {
      for (const auto& [group, block] : track.groups) {
        there.emplace(track.name, group, block.bytes);
      }
    }
    return there == held_;
  }

 private:
  using Held = std::tuple<TrackName, uint64_t, uint64_t>;
  std::set<Held> held_;
};

void FeedAll(CatalogWriter& writer, HoldingsFeed& feed) {
  for (const Object& object : writer.TakeObjects()) {
    ASSERT_TRUE(feed.OnObject(object.location, object.payload).ok());
  }
}

TEST(HoldingsFeed, ChangesAddUpToWhatIsHeld) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    CatalogWriter writer;
    HoldingsFeed feed;
    Hearsay hearsay;
    for (int step = 0; step < 200; ++step) {
      const TrackName track = FeedTrack(random.Below(5));
      const uint64_t group = random.Below(6);
      if (random.Happens(0.5)) {
        ASSERT_TRUE(
            writer.Add(track, group, Sha256::Of(track.name() + std::to_string(group)), group).ok());
      } else if (random.Happens(0.8)) {
        writer.Remove(track, group);
      } else {
        writer.Drop(track);
      }
      if (random.Happens(0.05)) {
        writer.StartEpoch();
      }
      if (random.Happens(0.5)) {
        FeedAll(writer, feed);
        hearsay.Hear(feed);
        ASSERT_TRUE(hearsay.Agrees(writer.holdings())) << "seed " << seed << ", step " << step;
      }
    }
    feed.End();
    hearsay.Hear(feed);
    EXPECT_TRUE(hearsay.Agrees(Holdings()));
  }
}

TEST(HoldingsFeed, AnEpochThatSaysTheSameChangesNothing) {
  CatalogWriter writer;
  HoldingsFeed feed;
  ASSERT_TRUE(writer.Add(FeedTrack(1), 0, Sha256::Of("a"), 10).ok());
  FeedAll(writer, feed);
  EXPECT_EQ(feed.TakeChanges().size(), 1u);
  writer.StartEpoch();
  FeedAll(writer, feed);
  EXPECT_TRUE(feed.TakeChanges().empty());
}

// What was known stays told until the node has said all of it anew.
TEST(HoldingsFeed, DamageIsNotTakenForRemovals) {
  CatalogWriter writer;
  HoldingsFeed feed;
  ASSERT_TRUE(writer.Add(FeedTrack(1), 0, Sha256::Of("a"), 10).ok());
  const std::vector<Object> first = writer.TakeObjects();
  ASSERT_TRUE(feed.OnObject(first[0].location, first[0].payload).ok());
  EXPECT_EQ(feed.TakeChanges().size(), 1u);
  EXPECT_FALSE(feed.OnObject({0, 1}, Bytes::Of("nonsense")).ok());
  EXPECT_TRUE(feed.TakeChanges().empty());
  feed.Restart();
  ASSERT_TRUE(feed.OnObject(first[0].location, first[0].payload).ok());
  EXPECT_TRUE(feed.TakeChanges().empty());
  EXPECT_EQ(feed.holdings().block_count(), 1u);
}

TEST(HoldingsFeed, MoreThanIsAllowedIsNotTold) {
  CatalogWriter writer;
  HoldingsFeed feed(CatalogLimits{.tracks_max = 10, .blocks_max = 2});
  ASSERT_TRUE(writer.Add(FeedTrack(1), 0, Sha256::Of("a"), 10).ok());
  FeedAll(writer, feed);
  ASSERT_TRUE(writer.Add(FeedTrack(1), 1, Sha256::Of("b"), 10).ok());
  ASSERT_TRUE(writer.Add(FeedTrack(1), 2, Sha256::Of("c"), 10).ok());
  const std::vector<Object> more = writer.TakeObjects();
  EXPECT_EQ(feed.OnObject(more[0].location, more[0].payload).error().code(), ErrorCode::kTooLarge);
  Hearsay hearsay;
  hearsay.Hear(feed);
  feed.End();
  hearsay.Hear(feed);
  EXPECT_TRUE(hearsay.Agrees(Holdings()));
}

}  // namespace
}  // namespace kvcast
