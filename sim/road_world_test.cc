#include "sim/road_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim road --seed N
TEST(RoadWorld, CarriesExactBytesOrNone) {
  RoadWorldCounts total;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RoadWorld world(seed);
    ASSERT_EQ(world.Play(700), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing, and neither do caches that never travel.
  EXPECT_GT(total.published, 1000u);
  EXPECT_GT(total.loaded, 1000u);
  for (const uint64_t count :
       {total.skipped, total.again, total.broken, total.restarts, total.stalls, total.cancels,
        total.small_nodes, total.given_up, total.followed, total.live, total.lies, total.jobs,
        total.withdrawn}) {
    EXPECT_GT(count, 20u);
  }
}

TEST(RoadWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    RoadWorld world(seed);
    world.Play(300);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
