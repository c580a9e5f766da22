#include "kvcast/codec/turn_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TEST(Turn, IsACosineAndASine) {
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto phase = static_cast<uint32_t>(random.Next());
    const double angle = phase * 0x1p-32 * 2 * std::numbers::pi;
    const Turn turn = Turn::Of(phase);
    ASSERT_NEAR(turn.cosine * 0x1p-30, std::cos(angle), 4e-9) << phase;
    ASSERT_NEAR(turn.sine * 0x1p-30, std::sin(angle), 4e-9) << phase;
  }
}

TEST(TurnTable, TurnsBackWhatItTurned) {
  for (const bool adjacent : {false, true}) {
    const Rope rope{1, adjacent, {uint64_t{1} << 61, uint64_t{1} << 55, 12345}};
    const TurnTable table(rope, 1'000'000, 3);
    for (uint32_t token = 0; token < 3; ++token) {
      float head[8] = {9, 1, -2, 3, 0.5F, -0.25F, 7, 8};
      table.Turn(token, head);
      EXPECT_EQ(head[0], 9);
      EXPECT_EQ(head[7], 8);
      table.TurnBack(token, head);
      const float expected[8] = {9, 1, -2, 3, 0.5F, -0.25F, 7, 8};
      for (int i = 0; i < 8; ++i) {
        EXPECT_NEAR(head[i], expected[i], 1e-6) << i;
      }
    }
  }
}

// Far into a prompt an angle in floating point would be off; whole numbers wrap around exactly.
TEST(TurnTable, IsAsRightFarIntoAPromptAsAtItsBeginning) {
  const Rope rope{0, false, {uint64_t{1} << 60}};  // A sixteenth of a turn for each token.
  const TurnTable near(rope, 5, 1);
  const TurnTable far(rope, 5 + 16 * 1'000'000'000ULL, 1);
  float one[2] = {1, 2};
  float other[2] = {1, 2};
  near.Turn(0, one);
  far.Turn(0, other);
  EXPECT_EQ(one[0], other[0]);
  EXPECT_EQ(one[1], other[1]);
}

}  // namespace
}  // namespace kvcast
