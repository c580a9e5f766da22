#include "kvcast/io/cpu_time.h"

#include <gtest/gtest.h>

#include "kvcast/io/thread_team.h"

namespace kvcast {
namespace {

// Works until this thread's own reading says so, however fast the machine is.
void WorkFor(Duration duration) {
  const Duration begun = ThreadCpuTime();
  while (ThreadCpuTime() - begun < duration) {
  }
}

TEST(CpuTime, OfTheProcessIsThatOfAllItsThreads) {
  const Duration process = ProcessCpuTime();
  const Duration thread = ThreadCpuTime();
  ThreadTeam team;
  for (int i = 0; i < 2; ++i) {
    team.Start([] { WorkFor(std::chrono::milliseconds(20)); });
  }
  team.Join();
  const Duration mine = ThreadCpuTime() - thread;
  EXPECT_GE(ProcessCpuTime() - process, mine + std::chrono::milliseconds(40));
}

}  // namespace
}  // namespace kvcast
