#include "kvcast/io/disk_probe.h"

#include <gtest/gtest.h>

#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/unprivileged_test.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

DiskProbeOptions Small() {
  DiskProbeOptions options;
  options.bytes_max = 8 * 1024 * 1024;
  return options;
}

TEST(DiskProbe, MeasuresADirectory) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto facts = ProbeDisk(scratch.path(), Small());
  ASSERT_TRUE(facts.ok()) << facts.error().ToString();
  EXPECT_EQ(facts->directory, scratch.path());
  EXPECT_FALSE(facts->file_system.empty());
  EXPECT_GT(facts->free_bytes, 0u);
  EXPECT_GE(facts->total_bytes, facts->free_bytes);
  EXPECT_GT(facts->write_bytes_per_s, 0);
  EXPECT_GT(facts->read_bytes_per_s, 0);
  EXPECT_LE(facts->sync_median, facts->sync_slowest);
}

// A share is no disk, whichever version of its protocol it speaks: each has a number of its own.
TEST(DiskProbe, KnowsAShareOfAnySmbVersion) {
  EXPECT_EQ(FileSystemName(0xff534d42), "cifs");
  EXPECT_EQ(FileSystemName(0xfe534d42), "cifs");
  EXPECT_EQ(FileSystemName(0x12345678), "0x12345678");
}

TEST(DiskProbe, LeavesNothingBehind) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  DiskProbeOptions options = Small();
  options.progress = [&](uint64_t, uint64_t) {
    EXPECT_TRUE(fs::is_empty(scratch.path()));  // Not even while it runs.
  };
  ASSERT_TRUE(ProbeDisk(scratch.path(), options).ok());
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(DiskProbe, TellsHowFarItIs) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  uint64_t last = 0;
  DiskProbeOptions options = Small();
  options.time_max = std::chrono::hours(1);
  options.progress = [&last](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, uint64_t{16 * 1024 * 1024});
    last = done;
  };
  ASSERT_TRUE(ProbeDisk(scratch.path(), options).ok());
  EXPECT_EQ(last, uint64_t{16 * 1024 * 1024});
}

TEST(DiskProbe, SaysWhichDirectoryItCannotTest) {
  EXPECT_EQ(ProbeDisk("/nonexistent/kvcast").error().code(), ErrorCode::kNotFound);
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  fs::permissions(scratch.path(), fs::perms(0555));
  const Unprivileged user;
  const auto facts = ProbeDisk(scratch.path(), Small());
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().ToString().find(scratch.path().string() + ": Cannot create"), 0u);
}

}  // namespace
}  // namespace kvcast
