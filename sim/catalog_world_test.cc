#include "sim/catalog_world.h"

#include <gtest/gtest.h>

namespace kvcast::sim {
namespace {

// Any failure here is replayed by: kvcast_sim catalog --seed N
TEST(CatalogWorld, EndsWithAnIndexThatKnowsTheTruth) {
  CatalogWorldCounts total;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    CatalogWorld world(seed);
    ASSERT_EQ(world.Play(120), "") << "seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing.
  for (const uint64_t count :
       {total.lost, total.damaged, total.repeated, total.delayed, total.restarts}) {
    EXPECT_GT(count, 100u);
  }
}

TEST(CatalogWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    CatalogWorld world(seed);
    world.Play(120);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
