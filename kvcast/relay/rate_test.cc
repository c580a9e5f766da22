#include "kvcast/relay/rate.h"

#include <gtest/gtest.h>

namespace kvcast::relay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

int TakenAt(Rate& rate, Instant now, int asked) {
  int taken = 0;
  for (int i = 0; i < asked; ++i) {
    taken += rate.Take(now) ? 1 : 0;
  }
  return taken;
}

TEST(Rate, LetsABurstPassAndThenSoManyASecond) {
  Rate rate(10, 20);
  Instant now{};
  EXPECT_EQ(TakenAt(rate, now, 100), 20);
  now += milliseconds(500);
  EXPECT_EQ(TakenAt(rate, now, 100), 5);
  now += seconds(1);
  EXPECT_EQ(TakenAt(rate, now, 100), 10);
}

TEST(Rate, SavesNoMoreThanABurst) {
  Rate rate(10, 20);
  EXPECT_EQ(TakenAt(rate, Instant() + hours(5), 100), 20);
}

TEST(Rate, IsAnotherOneFromNowOn) {
  Rate rate(10, 20);
  Instant now{};
  EXPECT_EQ(TakenAt(rate, now, 15), 15);
  now += milliseconds(100);
  rate.Set(100, 3, now);
  EXPECT_EQ(TakenAt(rate, now, 100), 3);  // Six were left, of which so many may be.
  now += milliseconds(20);
  EXPECT_EQ(TakenAt(rate, now, 100), 2);
}

TEST(Rate, TellsHowLongToWait) {
  Rate rate(10, 1);
  EXPECT_EQ(rate.Wait(Instant()), Duration::zero());
  EXPECT_TRUE(rate.Take(Instant()));
  EXPECT_EQ(rate.Wait(Instant()), milliseconds(100));
  EXPECT_EQ(TakenAt(rate, Instant() + rate.Wait(Instant()), 10), 1);
}

TEST(Rate, TakesNothingBackWhenTimeStepsBack) {
  Rate rate(10, 10);
  EXPECT_EQ(TakenAt(rate, Instant() + seconds(10), 10), 10);
  EXPECT_EQ(TakenAt(rate, Instant() + seconds(5), 10), 0);
}

TEST(Rate, BoundsNothingByZero) {
  Rate rate(0, 0);
  EXPECT_EQ(TakenAt(rate, Instant(), 1000), 1000);
}

}  // namespace
}  // namespace kvcast::relay
