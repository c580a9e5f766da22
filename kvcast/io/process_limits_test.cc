#include "kvcast/io/process_limits.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(ProcessLimits, AreThoseOfThisProcess) {
  const ProcessLimits limits = ReadProcessLimits();
  EXPECT_GT(limits.open_files, 0u);
  EXPECT_LE(limits.open_files, limits.open_files_max);
}

}  // namespace
}  // namespace kvcast
