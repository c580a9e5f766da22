#include "kvcast/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kvcast {
namespace {

// A failing seed must fail again on any machine, so the numbers themselves are a promise. These
// were computed with another implementation of splitmix64 and xoshiro256**.
TEST(Random, GivesTheSameNumbersForTheSameSeedEverywhere) {
  Random random(1);
  EXPECT_EQ(random.Next(), 0xb3f2af6d0fc710c5u);
  EXPECT_EQ(random.Next(), 0x853b559647364ceau);
  EXPECT_EQ(random.Next(), 0x92f89756082a4514u);
}

TEST(Random, StaysBelowItsBoundAndReachesAllOfIt) {
  Random random(7);
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    ++seen.at(random.Below(5));
  }
  for (const int count : seen) {
    EXPECT_GT(count, 100);
  }
}

TEST(Random, ChancesAreKept) {
  Random random(7);
  int happened = 0;
  for (int i = 0; i < 10000; ++i) {
    happened += random.Happens(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(happened, 2500, 200);
  EXPECT_FALSE(random.Happens(0));
  EXPECT_TRUE(random.Happens(1));
}

TEST(Random, FillsEveryByte) {
  std::vector<std::byte> bytes(13, std::byte{0});
  Random(3).Fill(bytes);
  Random again(3);
  EXPECT_EQ(bytes[0], static_cast<std::byte>(again.Next()));
  EXPECT_EQ(bytes[12], static_cast<std::byte>(again.Next() >> 32));
}

}  // namespace
}  // namespace kvcast
