#include "kvcast/io/file_digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/unprivileged_test.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

bool OnTmpfs(const fs::path& path) {
  struct statfs system {};
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

class DigestFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (OnTmpfs(scratch_.path())) {
      GTEST_SKIP() << "Digests of files on tmpfs are never kept: set TMPDIR to a disk.";
    }
    fs::permissions(scratch_.path(), fs::perms(0777));
    fs::create_directory(scratch_ / "model");
    fs::create_directory(scratch_ / "cache");
    fs::permissions(scratch_ / "cache", fs::perms(0777));
    Write("first contents");
  }

  // Small times and sizes, so that tests need not wait for what they are about.
  DigestOptions Options() {
    DigestOptions options;
    options.log = Log(&log_, "io");
    options.kept_bytes_min = 0;
    options.cache_directory = scratch_ / "cache";
    options.settled_after = milliseconds(20);
    options.progress = [this](uint64_t, uint64_t) { ++reads_; };
    return options;
  }

  void Write(std::string_view text) { std::ofstream(file_) << text; }
  static void Settle() { std::this_thread::sleep_for(milliseconds(40)); }
  Digest Take() { return *DigestFile(file_, Options()); }
  static size_t Count(const fs::path& directory) {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  fs::path file_ = scratch_ / "model" / "weights";
  fs::path sidecar_ = scratch_ / "model" / "weights.kvcast-digest";
  LogMemory log_;
  int reads_ = 0;  // How often contents were read: 0 when a kept digest was used.
};

TEST_F(DigestFileTest, IsTheSha256OfTheContents) {
  EXPECT_EQ(Take(), Sha256::Of("first contents"));
  Write("");
  EXPECT_EQ(Take(), Sha256::Of(""));
  std::string large;
  large.resize(9'000'001, 'x');  // More than two reads.
  Write(large);
  EXPECT_EQ(Take(), Sha256::Of(large));
}

TEST_F(DigestFileTest, IsTakenOnce) {
  Settle();
  const Digest digest = Take();
  EXPECT_TRUE(fs::exists(sidecar_));
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(Take(), digest);
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(log_.records().empty());
}

TEST_F(DigestFileTest, IsTakenAgainWhenTheFileChanged) {
  Settle();
  Take();
  Write("other contents");
  EXPECT_EQ(Take(), Sha256::Of("other contents"));
}

// `cp -p` over a file of the same size: only ctime tells.
TEST_F(DigestFileTest, IsTakenAgainWhenTheOldTimesWerePutBack) {
  struct stat before {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  Settle();
  Take();
  Write("forged content");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  EXPECT_EQ(Take(), Sha256::Of("forged content"));
}

// The same tick of the file system's clock may see one more write.
TEST_F(DigestFileTest, IsNotKeptWhenTheFileWasWrittenJustNow) {
  DigestOptions options = Options();
  options.settled_after = std::chrono::hours(1);
  ASSERT_TRUE(DigestFile(file_, options).ok());
  EXPECT_FALSE(fs::exists(sidecar_));
  ASSERT_EQ(log_.records().size(), 1u);
  EXPECT_NE(log_.records()[0].ToString().find("written just now"), std::string::npos);
}

// Once a page is dirty, further stores through a mapping leave the file's times alone.
TEST_F(DigestFileTest, NoticesWritesThroughAMapping) {
  const Descriptor descriptor(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
  void* const memory =
      ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  *static_cast<volatile char*>(memory) = 'F';
  Settle();
  EXPECT_EQ(Take(), Sha256::Of("First contents"));
  EXPECT_TRUE(fs::exists(sidecar_));
  Settle();
  *static_cast<volatile char*>(memory) = 'f';
  EXPECT_EQ(Take(), Sha256::Of("first contents"));
  ::munmap(memory, 1);
}

TEST_F(DigestFileTest, IsTakenAgainWhenTheSidecarIsDamaged) {
  Settle();
  const Digest digest = Take();
  fs::resize_file(sidecar_, 60);
  EXPECT_EQ(Take(), digest);
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(Take(), digest);  // The sidecar is whole again.
  EXPECT_EQ(reads_, 2);
}

TEST_F(DigestFileTest, IsAnErrorWhileTheFileIsWritten) {
  DigestOptions options = Options();
  options.progress = [this](uint64_t, uint64_t) { Write("longer than what it was"); };
  const auto digest = DigestFile(file_, options);
  ASSERT_FALSE(digest.ok());
  EXPECT_EQ(digest.error().code(), ErrorCode::kMismatch);
  EXPECT_FALSE(fs::exists(sidecar_));
}

TEST_F(DigestFileTest, IsAnErrorWhenTheFileIsReplaced) {
  DigestOptions options = Options();
  options.progress = [this](uint64_t, uint64_t) {
    ASSERT_TRUE(WriteFileAtomically(file_, AsBytes("first contents")).ok());
  };
  EXPECT_EQ(DigestFile(file_, options).error().code(), ErrorCode::kMismatch);
}

// Models often lie where only an administrator may write.
TEST_F(DigestFileTest, IsKeptInTheCacheWhenItCannotLieBesideTheFile) {
  Settle();
  fs::permissions(file_.parent_path(), fs::perms(0555));
  const Unprivileged user;
  const Digest digest = Take();
  EXPECT_FALSE(fs::exists(sidecar_));
  EXPECT_TRUE(fs::exists(scratch_ / "cache" / Sha256::Of(fs::canonical(file_).string()).ToHex()));
  EXPECT_EQ(Take(), digest);
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(log_.records().empty());
}

TEST_F(DigestFileTest, FindsTheCacheThroughTheEnvironment) {
  Settle();
  fs::permissions(file_.parent_path(), fs::perms(0555));
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (scratch_ / "cache").c_str(), 1), 0);
  DigestOptions options = Options();
  options.cache_directory.reset();
  {
    const Unprivileged user;
    ASSERT_TRUE(DigestFile(file_, options).ok());
  }
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(Count(scratch_ / "cache" / "kvcast" / "digests"), 1u);
}

TEST_F(DigestFileTest, IsTakenAndLoggedWhenItCanBeKeptNowhere) {
  Settle();
  fs::permissions(file_.parent_path(), fs::perms(0555));
  fs::permissions(scratch_ / "cache", fs::perms(0555));
  const Unprivileged user;
  EXPECT_EQ(Take(), Sha256::Of("first contents"));
  ASSERT_EQ(log_.records().size(), 1u);
  EXPECT_EQ(log_.records()[0].level, LogLevel::kWarning);
}

// In a directory where anybody may create files, anybody could invent a digest.
TEST_F(DigestFileTest, DoesNotBelieveAStrangersSidecar) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "Only root can give a file away.";
  }
  Settle();
  Take();
  ASSERT_EQ(::chown(sidecar_.c_str(), 65534, 65534), 0);
  Take();
  EXPECT_EQ(reads_, 2);
}

// Nor that of the weights' owner, who would decide which caches others load for his file.
TEST_F(DigestFileTest, DoesNotBelieveTheSidecarOfTheFilesOwner) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "Only root can give a file away.";
  }
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  Settle();
  Take();
  ASSERT_EQ(::chown(sidecar_.c_str(), 65534, 65534), 0);
  Take();
  EXPECT_EQ(reads_, 2);
}

// Anybody may set a file's mtime. This one is the last that 64 bits of nanoseconds hold.
TEST_F(DigestFileTest, IsTakenWhateverTheFilesTimesAre) {
  for (const time_t since_1970 : {9'223'372'036, 9'223'372'037, 14'000'000'000, -2'000'000'000L}) {
    const timespec times[] = {{since_1970, 854'775'807}, {since_1970, 854'775'807}};
    if (::utimensat(AT_FDCWD, file_.c_str(), times, 0) == 0) {
      Settle();
      EXPECT_EQ(Take(), Sha256::Of("first contents"));
      EXPECT_EQ(Take(), Sha256::Of("first contents"));
    }
  }
}

// Whoever may write a sidecar decides what its file's digest is, whoever owns it.
TEST_F(DigestFileTest, DoesNotBelieveASidecarThatOthersMayWrite) {
  Settle();
  Take();
  int reads = 1;
  for (const unsigned mode : {0664u, 0646u}) {
    fs::permissions(sidecar_, fs::perms(mode));
    Take();
    EXPECT_EQ(reads_, ++reads);
    Take();  // The sidecar has been put right.
    EXPECT_EQ(reads_, reads);
  }
}

TEST_F(DigestFileTest, LeavesNothingThatOthersMayWrite) {
  const mode_t before = ::umask(0);
  Settle();
  Take();
  EXPECT_EQ(fs::status(sidecar_).permissions(), fs::perms(0644));
  fs::remove(sidecar_);
  fs::permissions(file_.parent_path(), fs::perms(0555));
  {
    const Unprivileged user;
    Take();
  }
  ::umask(before);
  const fs::path cached = scratch_ / "cache" / Sha256::Of(fs::canonical(file_).string()).ToHex();
  EXPECT_EQ(fs::status(cached).permissions(), fs::perms(0600));
}

TEST_F(DigestFileTest, IsOneHoweverTheFileIsReached) {
  Settle();
  fs::create_symlink(file_, scratch_ / "link");
  EXPECT_TRUE(DigestFile(scratch_ / "link", Options()).ok());
  EXPECT_TRUE(fs::exists(sidecar_));
  Take();
  EXPECT_EQ(reads_, 1);
}

TEST_F(DigestFileTest, OfASmallFileIsNotKept) {
  Settle();
  DigestOptions options = Options();
  options.kept_bytes_min = 1000;
  ASSERT_TRUE(DigestFile(file_, options).ok());
  EXPECT_EQ(Count(file_.parent_path()), 1u);
}

TEST_F(DigestFileTest, NamesTheFileItCannotRead) {
  EXPECT_EQ(DigestFile(scratch_ / "absent").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(DigestFile(scratch_.path()).error().ToString(),
            scratch_.path().string() + ": This is a directory. Name a file in it.");
}

TEST(DigestFileOnTmpfs, IsNeverKept) {
  const auto scratch = ScratchDirectory::Make("/dev/shm");
  if (!scratch.ok() || !OnTmpfs(scratch->path())) {
    GTEST_SKIP() << "There is no tmpfs here to try it on.";
  }
  std::ofstream(*scratch / "weights") << "contents";
  DigestOptions options;
  options.kept_bytes_min = 0;
  options.settled_after = Duration(0);
  EXPECT_EQ(*DigestFile(*scratch / "weights", options), Sha256::Of("contents"));
  EXPECT_FALSE(fs::exists(*scratch / "weights.kvcast-digest"));
}

}  // namespace
}  // namespace kvcast
