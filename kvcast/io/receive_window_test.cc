#include "kvcast/io/receive_window.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::milliseconds;

constexpr Instant kBegin{};

// What it grows by when so many bytes are taken at a time, with a round trip of 50 ms.
uint64_t GrowthAt(ReceiveWindow& window, uint64_t taken, milliseconds at) {
  return window.Take(taken) ? window.Grow(kBegin + at, milliseconds(50)) : 0;
}

TEST(ReceiveWindow, IsLookedAtWhenHalfOfItWasTaken) {
  ReceiveWindow window(1000, 1000);
  EXPECT_FALSE(window.Take(300));
  EXPECT_FALSE(window.Take(199));
  EXPECT_TRUE(window.Take(1));
  EXPECT_EQ(window.Grow(kBegin, milliseconds(50)), 0U);
  EXPECT_FALSE(window.Take(499));
  EXPECT_TRUE(window.Take(900));
  EXPECT_EQ(window.Grow(kBegin, milliseconds(50)), 0U);
  EXPECT_EQ(window.bytes(), 1000U);
}

TEST(ReceiveWindow, DoublesWhileItHoldsThePeerUp) {
  ReceiveWindow window(1000, 5000);
  EXPECT_EQ(GrowthAt(window, 500, milliseconds(0)), 0U);
  EXPECT_EQ(GrowthAt(window, 500, milliseconds(99)), 1000U);
  EXPECT_EQ(GrowthAt(window, 999, milliseconds(150)), 0U);  // Not half.
  EXPECT_EQ(GrowthAt(window, 1, milliseconds(160)), 2000U);
  EXPECT_EQ(GrowthAt(window, 2000, milliseconds(170)), 1000U);
  EXPECT_EQ(window.bytes(), 5000U);
  EXPECT_EQ(GrowthAt(window, 5000, milliseconds(171)), 0U);
}

TEST(ReceiveWindow, StaysWhereThePeerIsSlower) {
  ReceiveWindow window(1000, 5000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(GrowthAt(window, 500, i * milliseconds(100)), 0U);
  }
}

// On loopback bytes lie in queues for many times the shortest round trip.
TEST(ReceiveWindow, OpensQuicklyWhileItIsSmallHoweverShortTheRoundTripIs) {
  constexpr uint64_t kFirst = ReceiveWindow::kSmallBytes / 16;
  ReceiveWindow window(kFirst, 8 * ReceiveWindow::kSmallBytes);
  Instant now = kBegin;
  uint64_t taken = 0;
  while (window.bytes() < ReceiveWindow::kSmallBytes) {
    now += ReceiveWindow::kSoon - milliseconds(1);
    taken += window.bytes() / 2;
    ASSERT_TRUE(window.Take(window.bytes() / 2));
    window.Grow(now, std::chrono::microseconds(10));
    ASSERT_LE(taken, ReceiveWindow::kSmallBytes);
  }
  ASSERT_TRUE(window.Take(window.bytes()));
  EXPECT_EQ(window.Grow(now, std::chrono::microseconds(10)), ReceiveWindow::kSmallBytes);
  ASSERT_TRUE(window.Take(window.bytes()));
  EXPECT_EQ(window.Grow(now + milliseconds(1), std::chrono::microseconds(10)), 0U);
}

TEST(ReceiveWindow, GrowsByNoMoreThanThereIs) {
  ReceiveWindow window(1000, 5000);
  EXPECT_EQ(GrowthAt(window, 500, milliseconds(0)), 0U);
  ASSERT_TRUE(window.Take(500));
  EXPECT_EQ(window.Grow(kBegin, milliseconds(50), 300), 300U);
  EXPECT_EQ(window.bytes(), 1300U);
  ASSERT_TRUE(window.Take(650));
  EXPECT_EQ(window.Grow(kBegin, milliseconds(50), 0), 0U);
}

}  // namespace
}  // namespace kvcast
