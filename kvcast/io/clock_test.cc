#include "kvcast/io/clock.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Now, NeverGoesBack) {
  Instant last = Now();
  for (int i = 0; i < 1000; ++i) {
    const Instant now = Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(WallNow, IsAfterThisWasWritten) { EXPECT_GT(WallNow(), WallTime(seconds(1'700'000'000))); }

TEST(ToIso8601, WritesUtc) {
  EXPECT_EQ(ToIso8601(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(ToIso8601(WallTime(seconds(951'782'400) + milliseconds(7))),
            "2000-02-29T00:00:00.007Z");
  EXPECT_EQ(ToIso8601(WallTime(seconds(1'935'630'121) + milliseconds(999))),
            "2031-05-04T03:02:01.999Z");
}

}  // namespace
}  // namespace kvcast
