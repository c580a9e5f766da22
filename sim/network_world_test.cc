#include "sim/network_world.h"

#include <gtest/gtest.h>

#include "kvcast/base/sanitized_test.h"

namespace kvcast::sim {
namespace {

// A part of all seeds, so that parts run beside each other.
class NetworkWorldSeeds : public testing::TestWithParam<uint64_t> {};

// Any failure here is replayed by: kvcast_sim network --seed N
TEST_P(NetworkWorldSeeds, KeepTheirPromisesWhateverFails) {
  const uint64_t count = kSanitized ? 20 : 200;
  NetworkCounts total;
  for (uint64_t seed = GetParam(); seed < GetParam() + count; ++seed) {
    NetworkWorld world(seed);
    ASSERT_EQ(world.Play(400), "") << "kvcast_sim network --seed " << seed;
    total.Add(world.counts());
  }
  // Faults that never happen prove nothing, and neither do objects that never travel.
  EXPECT_GT(total.objects, 40 * count);
  EXPECT_GT(total.upstream, 20 * count);
  for (size_t i = 0; i < kNetworkFaults && !kSanitized; ++i) {
    EXPECT_GT(total.faults[i], 2u) << NameOf(static_cast<NetworkFault>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(NetworkWorld, NetworkWorldSeeds, testing::Values(0, 200, 400, 600, 800));

TEST(NetworkWorld, IsReplayedByItsSeed) {
  const auto history = [](uint64_t seed) {
    NetworkWorld world(seed);
    world.Play(400);
    return world.history();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace kvcast::sim
