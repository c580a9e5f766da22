#include "kvcast/client/cache_match.h"

#include <gtest/gtest.h>

#include "kvcast/client/engine_memory_test.h"

namespace kvcast {
namespace {

// An index of one node, filled by hand.
class CacheMatches : public testing::Test {
 protected:
  TrackName Track(uint8_t generation, const CacheKind& kind = TestKind()) {
    return kind.TrackOf(blocks_.back(), {std::byte{generation}}).Name();
  }
  void Add(const TrackName& track, size_t first, size_t count, uint64_t shift = 0) {
    const TrackRef ref = *index_.OpenTrack(node_, tracks_++, track);
    for (size_t block = first; block < first + count; ++block) {
      ASSERT_TRUE(index_.Add(ref, block + shift, blocks_[block], 100 + block).ok());
    }
  }
  CacheMatch Match(size_t first = 0, std::vector<Rung> rungs = {Rung::kBf16}) {
    return CacheMatch::Of(index_, blocks_, TestKind(), rungs, first);
  }

  PrefixIndex index_;
  NodeRef node_ = *index_.OpenNode();
  uint32_t tracks_ = 0;
  std::vector<BlockHash> blocks_ = TestBlocks(12);
};

TEST_F(CacheMatches, HasNothingWhereNothingIsHeld) {
  EXPECT_TRUE(Match().empty());
  EXPECT_EQ(Match().block_count(), 0u);
  EXPECT_EQ(Match().bytes(), 0u);
}

TEST_F(CacheMatches, AsksForConsecutiveGroupsOfATrackAtOnce) {
  Add(Track(1), 0, 5);
  const CacheMatch match = Match();
  ASSERT_EQ(match.BestRuns().size(), 1u);
  EXPECT_EQ(match.BestRuns()[0],
            (LoadRun{Track(1), Rung::kBf16, 0, 0, 5, 100 + 101 + 102 + 103 + 104}));
  EXPECT_EQ(match.block_count(), 5u);
}

// One publisher added the end of what another had begun.
TEST_F(CacheMatches, GoesFromTrackToTrack) {
  Add(Track(1), 0, 5);
  Add(Track(2), 5, 3);
  const CacheMatch match = Match();
  ASSERT_EQ(match.BestRuns().size(), 2u);
  EXPECT_EQ(match.BestRuns()[1].first_block, 5u);
  EXPECT_EQ(match.BestRuns()[1].last_group(), 7u);
  EXPECT_EQ(match.end_block(), 8u);
}

TEST_F(CacheMatches, NeedsAsFewFetchesAsPossible) {
  Add(Track(2), 0, 3);  // Newer sources that end sooner.
  Add(Track(1), 0, 9);
  Add(Track(3), 2, 4);
  Add(Track(4), 8, 4);
  const CacheMatch match = Match();
  ASSERT_EQ(match.BestRuns().size(), 2u);
  EXPECT_EQ(match.BestRuns()[0].track, Track(1));
  EXPECT_EQ(match.BestRuns()[0].block_count, 9u);
  EXPECT_EQ(match.BestRuns()[1].track, Track(4));
  EXPECT_EQ(match.BestRuns()[1].first_group, 9u);
  EXPECT_EQ(match.block_count(), 12u);
}

// What lies behind a hole is of no use to who loads a prefix.
TEST_F(CacheMatches, EndsAtTheFirstHole) {
  Add(Track(1), 0, 3);
  Add(Track(2), 4, 3);
  EXPECT_EQ(Match().block_count(), 3u);
  EXPECT_TRUE(Match(3).empty());
  EXPECT_EQ(Match(4).end_block(), 7u);
}

TEST_F(CacheMatches, BeginsBehindWhatTheEngineHas) {
  Add(Track(1), 0, 6);
  const CacheMatch match = Match(4);
  ASSERT_EQ(match.BestRuns().size(), 1u);
  EXPECT_EQ(match.BestRuns()[0].first_block, 4u);
  EXPECT_EQ(match.BestRuns()[0].first_group, 4u);
  EXPECT_EQ(match.block_count(), 2u);
  EXPECT_TRUE(Match(100).empty());
}

TEST_F(CacheMatches, TakesOnlyWhatTheEngineCanUse) {
  const ModelScope other = *ModelScope::Of(Tenant::Public(), "toy", Sha256::Of("another"));
  Add(Track(1, TestKind(Rung::kFp16)), 0, 3);
  Add(Track(2, CacheKind(other, Rung::kBf16)), 0, 3);
  Add(Track(3, CacheKind(TestKind().scope(), Rung::kBf16, {{}, IndexRange{0, 0}})), 0, 3);
  Add(*TrackName::Of(TestKind().scope().Namespace(), "BF16"), 0, 3);
  EXPECT_TRUE(Match().empty());
  Add(Track(4), 0, 1);
  EXPECT_EQ(Match().block_count(), 1u);
  EXPECT_EQ(Match().BestRuns()[0].track, Track(4));
}

// A catalog may say that a block stands elsewhere in a track; the fetch asks there.
TEST_F(CacheMatches, FollowsTheCatalogToAnotherGroup) {
  Add(Track(1), 2, 3, /*shift=*/10);
  const CacheMatch match = Match(2);
  ASSERT_EQ(match.BestRuns().size(), 1u);
  EXPECT_EQ(match.BestRuns()[0].first_group, 12u);
  EXPECT_EQ(match.BestRuns()[0].last_group(), 14u);
}

TEST_F(CacheMatches, OffersABlockAtEveryRungThatWasAskedFor) {
  Add(Track(1, TestKind(Rung::kInt4)), 0, 3);
  Add(Track(2), 0, 2);
  Add(Track(3, TestKind(Rung::kFp16)), 0, 4);
  const CacheMatch match = Match(0, {Rung::kBf16, Rung::kInt4});
  EXPECT_EQ(match.block_count(), 3u);
  ASSERT_EQ(match.offers(1).size(), 2u);
  EXPECT_EQ(match.offers(1)[0].rung, Rung::kBf16);
  EXPECT_EQ(match.offers(1)[1].rung, Rung::kInt4);
  EXPECT_EQ(match.BytesAt(1, Rung::kInt4), 101u);
  EXPECT_EQ(match.BytesAt(2, Rung::kBf16), std::nullopt);
  const std::vector<LoadRun> runs = match.BestRuns();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0], (LoadRun{Track(2), Rung::kBf16, 0, 0, 2, 201}));
  EXPECT_EQ(runs[1], (LoadRun{Track(1, TestKind(Rung::kInt4)), Rung::kInt4, 2, 2, 1, 102}));
}

TEST_F(CacheMatches, EndsARunWhereItIsToldTo) {
  Add(Track(1), 0, 6);
  EXPECT_EQ(Match().RunFrom(1, Rung::kBf16, 3), (LoadRun{Track(1), Rung::kBf16, 1, 1, 3, 306}));
  EXPECT_EQ(Match().RunFrom(1, Rung::kInt8, 3), std::nullopt);
}

TEST_F(CacheMatches, DoesWithoutATrackThatWasWithdrawn) {
  Add(Track(1), 0, 6);
  Add(Track(2), 2, 2);
  CacheMatch match = Match();
  match.Withdraw(2, Track(1));
  EXPECT_EQ(match.RunFrom(0, Rung::kBf16, 6)->block_count, 2u);
  EXPECT_EQ(match.RunFrom(2, Rung::kBf16, 6)->track, Track(2));
  match.Withdraw(2, Track(2));
  EXPECT_TRUE(match.offers(2).empty());
}

// Very many publishers of one block must not make a lookup slow, nor hide the way on.
TEST_F(CacheMatches, ComparesOnlyAFewOfVeryManySources) {
  for (uint8_t generation = 1; generation < 200; ++generation) {
    Add(Track(generation), 0, 2);
  }
  EXPECT_EQ(Match().BestRuns().size(), 1u);
  EXPECT_EQ(Match().block_count(), 2u);
}

}  // namespace
}  // namespace kvcast
