#include "sim/store_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim store --seed N
TEST(StoreWorld, KeepsItsPromisesOverTiersAndRestarts) {
  StoreWorldCounts total;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    StoreWorld world(seed);
    ASSERT_EQ(world.Play(1500), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // What never happens proves nothing.
  for (const uint64_t count :
       {total.refused, total.contradictions, total.acknowledged, total.failed, total.hits,
        total.reads, total.misses, total.demoted, total.packs, total.evicted, total.restarts,
        total.checked, total.erased, total.erasures_done, total.bad_blocks, total.unread,
        total.put_again, total.hangs}) {
    EXPECT_GT(count, 0u);
  }
}

TEST(StoreWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    StoreWorld world(seed);
    world.Play(300);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
