#include "kvcast/io/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace kvcast {
namespace {

TEST(ProcessLimits, AreThoseOfThisProcess) {
  const ProcessLimits limits = ReadProcessLimits();
  EXPECT_GT(limits.open_files, 0u);
  EXPECT_LE(limits.open_files, limits.open_files_max);
}

TEST(ProcessLimits, OpenFilesAreRaisedAsFarAsTheyMayBe) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_max, 64), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  RaiseOpenFiles();
  const ProcessLimits raised = ReadProcessLimits();
  EXPECT_EQ(raised.open_files, raised.open_files_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace kvcast
