#include "kvcast/client/load_plan.h"

#include <gtest/gtest.h>

#include "kvcast/client/engine_memory_test.h"

namespace kvcast {
namespace {

// An index of one node, filled by hand.
class LoadPlans : public testing::Test {
 protected:
  TrackName Track(uint8_t generation, const CacheKind& kind = TestKind()) {
    return kind.TrackOf(blocks_.back(), {std::byte{generation}}).Name();
  }
  void Add(const TrackName& track, size_t first, size_t count, uint64_t shift = 0) {
    const TrackRef ref = *index_.OpenTrack(node_, track);
    for (size_t block = first; block < first + count; ++block) {
      ASSERT_TRUE(index_.Add(ref, block + shift, blocks_[block], 100 + block).ok());
    }
  }
  LoadPlan Plan(size_t first = 0) { return LoadPlan::Of(index_, blocks_, TestKind(), first); }

  PrefixIndex index_;
  NodeRef node_ = *index_.OpenNode();
  std::vector<BlockHash> blocks_ = TestBlocks(12);
};

TEST_F(LoadPlans, HasNothingWhereNothingIsHeld) {
  EXPECT_TRUE(Plan().empty());
  EXPECT_EQ(Plan().block_count(), 0u);
  EXPECT_EQ(Plan().bytes(), 0u);
}

TEST_F(LoadPlans, AsksForConsecutiveGroupsOfATrackAtOnce) {
  Add(Track(1), 0, 5);
  const LoadPlan plan = Plan();
  ASSERT_EQ(plan.runs().size(), 1u);
  EXPECT_EQ(plan.runs()[0], (LoadRun{Track(1), 0, 0, 5, 100 + 101 + 102 + 103 + 104}));
  EXPECT_EQ(plan.block_count(), 5u);
}

// One publisher added the end of what another had begun.
TEST_F(LoadPlans, GoesFromTrackToTrack) {
  Add(Track(1), 0, 5);
  Add(Track(2), 5, 3);
  const LoadPlan plan = Plan();
  ASSERT_EQ(plan.runs().size(), 2u);
  EXPECT_EQ(plan.runs()[1].first_block, 5u);
  EXPECT_EQ(plan.runs()[1].last_group(), 7u);
  EXPECT_EQ(plan.end_block(), 8u);
}

TEST_F(LoadPlans, NeedsAsFewFetchesAsPossible) {
  Add(Track(2), 0, 3);  // Newer sources that end sooner.
  Add(Track(1), 0, 9);
  Add(Track(3), 2, 4);
  Add(Track(4), 8, 4);
  const LoadPlan plan = Plan();
  ASSERT_EQ(plan.runs().size(), 2u);
  EXPECT_EQ(plan.runs()[0].track, Track(1));
  EXPECT_EQ(plan.runs()[0].block_count, 9u);
  EXPECT_EQ(plan.runs()[1].track, Track(4));
  EXPECT_EQ(plan.runs()[1].first_group, 9u);
  EXPECT_EQ(plan.block_count(), 12u);
}

// What lies behind a hole is of no use to who loads a prefix.
TEST_F(LoadPlans, EndsAtTheFirstHole) {
  Add(Track(1), 0, 3);
  Add(Track(2), 4, 3);
  EXPECT_EQ(Plan().block_count(), 3u);
  EXPECT_TRUE(Plan(3).empty());
  EXPECT_EQ(Plan(4).end_block(), 7u);
}

TEST_F(LoadPlans, BeginsBehindWhatTheEngineHas) {
  Add(Track(1), 0, 6);
  const LoadPlan plan = Plan(4);
  ASSERT_EQ(plan.runs().size(), 1u);
  EXPECT_EQ(plan.runs()[0].first_block, 4u);
  EXPECT_EQ(plan.runs()[0].first_group, 4u);
  EXPECT_EQ(plan.block_count(), 2u);
  EXPECT_TRUE(Plan(100).empty());
}

TEST_F(LoadPlans, TakesOnlyWhatTheEngineCanUse) {
  const ModelScope other = *ModelScope::Of(Tenant::Public(), "toy", Sha256::Of("another"));
  Add(Track(1, TestKind(Rung::kFp16)), 0, 3);
  Add(Track(2, CacheKind(other, Rung::kBf16)), 0, 3);
  Add(Track(3, CacheKind(TestKind().scope(), Rung::kBf16, {{}, IndexRange{0, 0}})), 0, 3);
  Add(*TrackName::Of(TestKind().scope().Namespace(), "BF16"), 0, 3);
  EXPECT_TRUE(Plan().empty());
  Add(Track(4), 0, 1);
  EXPECT_EQ(Plan().block_count(), 1u);
  EXPECT_EQ(Plan().runs()[0].track, Track(4));
}

// A catalog may say that a block stands elsewhere in a track; the fetch asks there.
TEST_F(LoadPlans, FollowsTheCatalogToAnotherGroup) {
  Add(Track(1), 2, 3, /*shift=*/10);
  const LoadPlan plan = Plan(2);
  ASSERT_EQ(plan.runs().size(), 1u);
  EXPECT_EQ(plan.runs()[0].first_group, 12u);
  EXPECT_EQ(plan.runs()[0].last_group(), 14u);
}

// Very many publishers of one block must not make a lookup slow, nor hide the way on.
TEST_F(LoadPlans, ComparesOnlyAFewOfVeryManySources) {
  for (uint8_t generation = 1; generation < 200; ++generation) {
    Add(Track(generation), 0, 2);
  }
  EXPECT_EQ(Plan().runs().size(), 1u);
  EXPECT_EQ(Plan().block_count(), 2u);
}

}  // namespace
}  // namespace kvcast
