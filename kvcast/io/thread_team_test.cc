#include "kvcast/io/thread_team.h"

#include <gtest/gtest.h>

#include <latch>

namespace kvcast {
namespace {

TEST(ThreadTeam, WorksSideBySideAndIsWaitedFor) {
  ThreadTeam team;
  std::latch met(3);  // Nobody would pass it alone.
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i) {
    team.Start([&] {
      met.arrive_and_wait();
      ++done;
    });
  }
  team.Join();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(team.working(), 0U);
}

TEST(ThreadTeam, TellsHowManyStillWork) {
  ThreadTeam team;
  std::latch leave(1);
  team.Start([&] { leave.wait(); });
  team.Start([&] { leave.wait(); });
  EXPECT_EQ(team.working(), 2U);
  leave.count_down();
  team.Join();
  EXPECT_EQ(team.working(), 0U);
}

}  // namespace
}  // namespace kvcast
