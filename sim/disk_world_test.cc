#include "sim/disk_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim disk --seed N
TEST(DiskWorld, KeepsItsPromisesAfterEveryPowerCut) {
  DiskWorldCounts total;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    DiskWorld world(seed);
    ASSERT_EQ(world.Play(400), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing.
  EXPECT_GT(total.power_cuts, 1000u);
  EXPECT_GT(total.flips, 100u);
  for (const uint64_t count : {total.restarts, total.acknowledged, total.failed, total.evicted,
                               total.carried, total.errors}) {
    EXPECT_GT(count, 5u);
  }
  EXPECT_GT(total.lost, 0u);
}

// A whole world for each request that it makes, and long enough for segments to be emptied in which
// something is reserved: kvcast_sim disk-errors --seed N goes on.
TEST(DiskWorld, KeepsItsPromisesWhicheverRequestFails) {
  uint64_t fail_at = 0;
  uint64_t requests = 1;
  uint64_t carried = 0;
  for (; fail_at < requests; ++fail_at) {
    DiskWorld world(3, {{.fail_at = fail_at + 1, .power_cut_chance = 0.01, .flips = 1}});
    ASSERT_EQ(world.Play(250), "") << "an error at request " << fail_at + 1;
    requests = world.request_count();
    carried += world.counts().carried;
  }
  EXPECT_GT(fail_at, 100u);
  EXPECT_GT(carried, 100u);
}

TEST(DiskWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    DiskWorld world(seed);
    world.Play(100);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
