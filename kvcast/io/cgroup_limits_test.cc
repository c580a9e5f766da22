#include "kvcast/io/cgroup_limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

class CgroupLimitsTest : public testing::Test {
 protected:
  void Put(const std::filesystem::path& name, std::string_view text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  CgroupLimits Read() { return ReadCgroupLimits(root_.path()); }

  ScratchDirectory root_ = *ScratchDirectory::Make();
};

TEST_F(CgroupLimitsTest, WithoutGroupsNothingIsLimited) {
  EXPECT_FALSE(Read().memory_bytes_max.has_value());
  EXPECT_FALSE(Read().cores_max.has_value());
}

TEST_F(CgroupLimitsTest, AreReadFromVersionTwo) {
  Put("proc/self/cgroup", "0::/kvcast.service\n");
  Put("sys/fs/cgroup/kvcast.service/memory.max", "1073741824\n");
  Put("sys/fs/cgroup/kvcast.service/cpu.max", "150000 100000\n");
  EXPECT_EQ(Read().memory_bytes_max, 1073741824u);
  EXPECT_EQ(Read().cores_max, 1.5);
}

// A roomy service in a tight slice gets what the slice gets.
TEST_F(CgroupLimitsTest, AreTheTightestOnTheWayUp) {
  Put("proc/self/cgroup", "0::/tight.slice/roomy.service\n");
  Put("sys/fs/cgroup/tight.slice/memory.max", "1000\n");
  Put("sys/fs/cgroup/tight.slice/roomy.service/memory.max", "2000\n");
  EXPECT_EQ(Read().memory_bytes_max, 1000u);
}

TEST_F(CgroupLimitsTest, AreReadFromVersionOne) {
  Put("proc/self/cgroup", "4:memory:/docker/abc\n3:cpu:/docker/abc\n0::/\n");
  Put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4096\n");
  Put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
  Put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Read().memory_bytes_max, 4096u);
  EXPECT_EQ(Read().cores_max, 0.5);
}

// Inside a container the path that the kernel names does not exist; the top of what is mounted is
// the container's own group.
TEST_F(CgroupLimitsTest, AreFoundInsideAContainer) {
  Put("proc/self/cgroup", "0::/../../not/visible\n");
  Put("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(Read().memory_bytes_max, 4096u);
}

TEST_F(CgroupLimitsTest, KnowHowNoLimitIsWritten) {
  Put("proc/self/cgroup", "4:memory:/\n3:cpu:/\n0::/\n");
  Put("sys/fs/cgroup/memory.max", "max\n");
  Put("sys/fs/cgroup/cpu.max", "max 100000\n");
  Put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(Read().memory_bytes_max.has_value());
  EXPECT_FALSE(Read().cores_max.has_value());
}

}  // namespace
}  // namespace kvcast
