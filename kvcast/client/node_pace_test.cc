#include "kvcast/client/node_pace.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant At(Duration time) { return Instant() + time; }

// How long a megabyte takes, in milliseconds.
double MegabyteAt(const NodePace& pace, Rung rung, Instant now) {
  return std::chrono::duration<double, std::milli>(pace.TimeFor(rung, 1'000'000, now)).count();
}

// Bytes that come evenly, from a moment on.
Instant Come(NodePace& pace, Rung rung, Instant from, size_t pieces, uint64_t bytes,
             Duration each) {
  for (size_t i = 0; i < pieces; ++i) {
    from += each;
    pace.OnBytes(rung, bytes, from);
  }
  return from;
}

TEST(NodePaceTest, KnowsNothingBeforeAnythingCame) {
  NodePace pace;
  EXPECT_FALSE(pace.known());
  pace.OnAsked(1000, At(seconds(1)));
  EXPECT_FALSE(pace.known());
  EXPECT_EQ(pace.expected_bytes(), 1000u);
  pace.OnOver(1000, At(seconds(2)));
  EXPECT_FALSE(pace.known());
  EXPECT_EQ(pace.expected_bytes(), 0u);
}

TEST(NodePaceTest, TellsTheWayFromItsWidth) {
  NodePace pace;
  pace.OnAsked(11'000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(40)));
  const Instant end =
      Come(pace, Rung::kBf16, At(seconds(1) + milliseconds(40)), 10, 1000, milliseconds(2));
  ASSERT_TRUE(pace.known());
  EXPECT_EQ(pace.latency(), milliseconds(40));
  EXPECT_NEAR(MegabyteAt(pace, Rung::kBf16, end), 2000, 1);
  EXPECT_EQ(pace.expected_bytes(), 0u);
}

// What comes at once at a load's end was late before: it makes a node no faster than it was on the
// whole.
TEST(NodePaceTest, TakesABurstAtTheEndForNoPace) {
  NodePace pace;
  pace.OnAsked(31'000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(40)));
  const Instant late =
      Come(pace, Rung::kBf16, At(seconds(1) + milliseconds(40)), 20, 1000, milliseconds(2));
  pace.OnBytes(Rung::kBf16, 9000, late + milliseconds(18));
  pace.OnBytes(Rung::kBf16, 1000, late + milliseconds(18) + std::chrono::microseconds(100));
  EXPECT_NEAR(MegabyteAt(pace, Rung::kBf16, late + milliseconds(20)), 2000, 200);
}

// Two rungs over one link come equally fast: which of them is smaller decides, and not which was
// measured last.
TEST(NodePaceTest, TellsRungsApartOnlyWhereDecodingHoldsOneUp) {
  NodePace pace;
  pace.OnAsked(42'000, At(seconds(1)));
  pace.OnBytes(Rung::kInt8, 1000, At(seconds(1)));
  Instant now = Come(pace, Rung::kInt8, At(seconds(1)), 20, 1000, milliseconds(2));
  pace.OnBytes(Rung::kInt4, 1000, now);
  now = Come(pace, Rung::kInt4, now, 20, 1000, std::chrono::microseconds(2500));
  EXPECT_EQ(pace.TimeFor(Rung::kInt8, 1000, now), pace.TimeFor(Rung::kInt4, 1000, now));
  pace.OnAsked(21'000, now);
  pace.OnBytes(Rung::kKtcFine, 1000, now);
  now = Come(pace, Rung::kKtcFine, now, 20, 1000, milliseconds(10));
  EXPECT_GT(pace.TimeFor(Rung::kKtcFine, 1000, now), 3 * pace.TimeFor(Rung::kInt8, 1000, now));
}

// More may come than was listed, and what was given up may be on its way: a way that is taken for
// none at all is waited for too shortly by everybody after that.
TEST(NodePaceTest, MeasuresNoWayByBytesThatNobodyAskedFor) {
  NodePace pace;
  pace.OnAsked(1000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(40)));
  pace.OnBytes(Rung::kBf16, 16, At(seconds(1) + milliseconds(41)));
  EXPECT_EQ(pace.latency(), milliseconds(40));
  pace.OnAsked(1000, At(seconds(2)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(2) + milliseconds(40)));
  EXPECT_EQ(pace.latency(), milliseconds(40));
}

TEST(NodePaceTest, SaysWhenTheFirstOfWhatIsOnItsWayComes) {
  NodePace pace;
  EXPECT_EQ(pace.UntilFirst(At(seconds(1))), Duration::zero());
  pace.OnAsked(1000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(40)));
  EXPECT_EQ(pace.UntilFirst(At(seconds(2))), Duration::zero());  // Nothing is.
  pace.OnAsked(2000, At(seconds(2)));
  EXPECT_EQ(pace.UntilFirst(At(seconds(2))), milliseconds(40));
  EXPECT_EQ(pace.UntilFirst(At(seconds(2) + milliseconds(15))), milliseconds(25));
  EXPECT_EQ(pace.UntilFirst(At(seconds(3))), Duration::zero());  // It is overdue.
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(3)));
  pace.OnAsked(1000, At(seconds(3)));
  EXPECT_EQ(pace.UntilFirst(At(seconds(3))), Duration::zero());  // It comes already.
}

// What waits behind what was asked for before does not make the way longer.
TEST(NodePaceTest, MeasuresTheWayOnlyWhileNothingElseIsOnIt) {
  NodePace pace;
  pace.OnAsked(2000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(10)));
  pace.OnAsked(1000, At(seconds(1) + milliseconds(11)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(2)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(3)));
  EXPECT_EQ(pace.latency(), milliseconds(10));
}

TEST(NodePaceTest, FollowsALinkThatChanges) {
  NodePace pace;
  pace.OnAsked(1'000'000, At(seconds(1)));
  Instant now = Come(pace, Rung::kInt8, At(seconds(1)), 100, 1000, milliseconds(1));
  EXPECT_NEAR(MegabyteAt(pace, Rung::kInt8, now), 1000, 20);
  now = Come(pace, Rung::kInt8, now, 100, 1000, milliseconds(5));
  EXPECT_NEAR(MegabyteAt(pace, Rung::kInt8, now), 5000, 100);
}

// A rung that takes long to decode has a pace of its own, for as long as nobody has reason to think
// that the link has changed.
TEST(NodePaceTest, KeepsRungsApartForAWhile) {
  NodePace pace;
  pace.OnAsked(1'000'000, At(seconds(1)));
  Instant now = Come(pace, Rung::kKtcFine, At(seconds(1)), 50, 1000, milliseconds(4));
  now = Come(pace, Rung::kBf16, now, 50, 1000, milliseconds(1));
  EXPECT_NEAR(MegabyteAt(pace, Rung::kKtcFine, now), 4000, 100);
  EXPECT_NEAR(MegabyteAt(pace, Rung::kBf16, now), 1000, 100);
  EXPECT_NEAR(MegabyteAt(pace, Rung::kInt4, now), 1000, 100);  // As what was seen last.
  now += seconds(10);
  EXPECT_NEAR(MegabyteAt(pace, Rung::kKtcFine, now), 1000, 100);
}

// A block that is one object tells nothing of a link's width but that it is no narrower.
TEST(NodePaceTest, LearnsFromWhatCameAllAtOnce) {
  NodePace pace;
  pace.OnAsked(1000, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1) + milliseconds(10)));
  ASSERT_TRUE(pace.known());
  EXPECT_NEAR(MegabyteAt(pace, Rung::kBf16, At(seconds(2))), 10'000, 1);
}

TEST(NodePaceTest, TakesNoOffenceAtNonsense) {
  NodePace pace;
  pace.OnBytes(Rung::kBf16, 1000, At(seconds(1)));  // More than was asked for.
  pace.OnOver(5000, At(seconds(1)));
  pace.OnAsked(0, At(seconds(1)));
  pace.OnBytes(Rung::kBf16, 0, At(seconds(2)));
  EXPECT_EQ(pace.expected_bytes(), 0u);
  EXPECT_GE(pace.latency(), Duration::zero());
}

}  // namespace
}  // namespace kvcast
