#include "kvcast/io/memory_probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

TEST(MemoryProbe, KnowsThisMachine) {
  const auto facts = ProbeMemory();
  ASSERT_TRUE(facts.ok());
  EXPECT_GT(facts->total_bytes, 0u);
  EXPECT_LE(facts->available_bytes, facts->total_bytes);
}

TEST(MemoryProbe, ReadsWhatTheKernelSays) {
  const ScratchDirectory root = *ScratchDirectory::Make();
  std::filesystem::create_directories(root / "proc");
  std::filesystem::create_directories(root / "sys/kernel/mm/transparent_hugepage");
  std::ofstream(root / "proc/meminfo") << "MemTotal:       1000 kB\nMemAvailable:    600 kB\n"
                                          "HugePages_Total:       8\nHugePages_Free:        3\n"
                                          "Hugepagesize:       2048 kB\n";
  std::ofstream(root / "sys/kernel/mm/transparent_hugepage/enabled") << "always [madvise] never\n";
  const MemoryFacts facts = *ProbeMemory(root.path());
  EXPECT_EQ(facts.total_bytes, 1024000u);
  EXPECT_EQ(facts.available_bytes, 614400u);
  EXPECT_EQ(facts.transparent_huge_pages, "madvise");
  EXPECT_EQ(facts.huge_pages, 8u);
  EXPECT_EQ(facts.huge_pages_free, 3u);
  EXPECT_EQ(facts.huge_page_bytes, 2097152u);
  EXPECT_FALSE(facts.cgroup_bytes_max.has_value());
}

TEST(MemoryProbe, FailsWithoutProc) {
  const ScratchDirectory root = *ScratchDirectory::Make();
  EXPECT_FALSE(ProbeMemory(root.path()).ok());
}

}  // namespace
}  // namespace kvcast
