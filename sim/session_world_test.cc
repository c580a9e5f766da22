#include "sim/session_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim session --seed N
TEST(SessionWorld, LeavesBothSidesWithTheSameObjects) {
  SessionWorldCounts total;
  for (uint64_t seed = 0; seed < 450; ++seed) {
    SessionWorld world(seed);
    ASSERT_EQ(world.Play(600), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing, and neither do objects that never travel.
  EXPECT_GT(total.taken, 3000u);
  for (const uint64_t count :
       {total.requests, total.refused, total.cancelled, total.updated, total.resets, total.lost,
        total.repeated, total.overtaken, total.broken, total.leaps, total.given_up, total.used_up,
        total.put_out, total.late}) {
    EXPECT_GT(count, 20u);
  }
}

TEST(SessionWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    SessionWorld world(seed);
    world.Play(400);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
