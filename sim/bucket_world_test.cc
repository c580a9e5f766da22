#include "sim/bucket_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim bucket --seed N
TEST(BucketWorld, KeepsItsPromisesWhateverTheBucketDoes) {
  BucketWorldCounts total;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    BucketWorld world(seed);
    ASSERT_EQ(world.Play(800), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing.
  for (const uint64_t count :
       {total.faults, total.outages, total.away, total.restarts, total.acknowledged, total.failed,
        total.hits, total.misses, total.evicted, total.damaged, total.merged}) {
    EXPECT_GT(count, 20u);
  }
}

// A budget that is spent on what packs alone say of others' objects: rewriting it gains nothing,
// and went on for ever.
TEST(BucketWorld, ComesToRestWhereOnlyNotesAreLeft) {
  BucketWorld world(7000);
  EXPECT_EQ(world.Play(800), "");
}

TEST(BucketWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    BucketWorld world(seed);
    world.Play(100);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
