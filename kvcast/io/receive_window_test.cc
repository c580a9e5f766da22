#include "kvcast/io/receive_window.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::milliseconds;

constexpr Instant kBegin{};

TEST(ReceiveWindow, GivesBackWhatIsTaken) {
  ReceiveWindow window(1000, 1000);
  EXPECT_EQ(window.Take(300, kBegin, milliseconds(50)), 300U);
  EXPECT_EQ(window.Take(900, kBegin, milliseconds(50)), 900U);
  EXPECT_EQ(window.bytes(), 1000U);
}

TEST(ReceiveWindow, DoublesWhileItHoldsThePeerUp) {
  ReceiveWindow window(1000, 5000);
  EXPECT_EQ(window.Take(500, kBegin, milliseconds(50)), 500U);
  EXPECT_EQ(window.Take(500, kBegin + milliseconds(99), milliseconds(50)), 1500U);
  EXPECT_EQ(window.Take(999, kBegin + milliseconds(150), milliseconds(50)), 999U);  // Not half.
  EXPECT_EQ(window.Take(1, kBegin + milliseconds(160), milliseconds(50)), 2001U);
  EXPECT_EQ(window.Take(2000, kBegin + milliseconds(170), milliseconds(50)), 3000U);
  EXPECT_EQ(window.bytes(), 5000U);
  EXPECT_EQ(window.Take(5000, kBegin + milliseconds(171), milliseconds(50)), 5000U);
}

TEST(ReceiveWindow, StaysWhereThePeerIsSlower) {
  ReceiveWindow window(1000, 5000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(window.Take(500, kBegin + i * milliseconds(100), milliseconds(50)), 500U);
  }
}

}  // namespace
}  // namespace kvcast
