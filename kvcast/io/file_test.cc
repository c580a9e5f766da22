#include "kvcast/io/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/unprivileged_test.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void Write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
  std::string Read(const fs::path& path) { return *ReadFile(path, 1 << 20); }
  size_t Entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(scratch_.path()), fs::directory_iterator()));
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
};

using MappedFileTest = FileTest;
using ReadFileTest = FileTest;
using FileWriterTest = FileTest;

TEST_F(MappedFileTest, ShowsTheFile) {
  Write(scratch_ / "weights", "tensor");
  const auto file = MappedFile::Open(scratch_ / "weights");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(AsText(file->span()), "tensor");
  EXPECT_EQ(file->path(), scratch_ / "weights");
}

TEST_F(MappedFileTest, ShowsAnEmptyFile) {
  Write(scratch_ / "empty", "");
  const auto file = MappedFile::Open(scratch_ / "empty");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->span().empty());
}

// What refers to the bytes stays valid when the file changes hands.
TEST_F(MappedFileTest, MovesWithoutMovingItsBytes) {
  Write(scratch_ / "a", "first");
  Write(scratch_ / "b", "second");
  MappedFile first = *MappedFile::Open(scratch_ / "a");
  const auto span = first.span();
  MappedFile second = *MappedFile::Open(scratch_ / "b");
  second = std::move(first);
  EXPECT_EQ(second.span().data(), span.data());
  EXPECT_EQ(AsText(span), "first");
}

TEST_F(MappedFileTest, SaysWhichFileIsNotThere) {
  const auto file = MappedFile::Open(scratch_ / "absent");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(file.error().ToString(),
            (scratch_ / "absent").string() +
                ": Cannot open it: No such file or directory. Check the path.");
}

TEST_F(ReadFileTest, SaysThatNoFileIsNamed) {
  EXPECT_EQ(ReadFile("", 1).error().message(), "No file is named: the path is empty.");
}

TEST_F(MappedFileTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(MappedFile::Open("").error().message(), "No file is named: the path is empty.");
  EXPECT_EQ(MappedFile::Open(scratch_.path()).error().message(),
            "This is a directory. Name a file in it.");
  ASSERT_EQ(::mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(scratch_ / "pipe").error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(MappedFile::Open("/dev/null").error().code(), ErrorCode::kInvalid);
}

TEST_F(MappedFileTest, SaysWhenItMayNotRead) {
  Write(scratch_ / "secret", "x");
  fs::permissions(scratch_.path(), fs::perms(0755));
  fs::permissions(scratch_ / "secret", fs::perms::none);
  const Unprivileged user;
  const auto file = MappedFile::Open(scratch_ / "secret");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message().find("Permission denied. Check the permissions"),
            std::string::npos);
}

TEST_F(ReadFileTest, TheFrontOfALargeFileIsReadAlone) {
  Write(scratch_ / "file", std::string(200'000, 'x') + "end");
  const auto front = ReadFront(scratch_ / "file", 100'000);
  ASSERT_TRUE(front.ok());
  EXPECT_EQ(front->bytes, std::string(100'000, 'x'));
  EXPECT_EQ(front->file_bytes, 200'003U);
  EXPECT_EQ(ReadFront(scratch_ / "file", 300'000)->bytes.size(), 200'003U);
  EXPECT_EQ(ReadFront(scratch_ / "file", 0)->bytes, "");
  EXPECT_EQ(ReadFront(scratch_ / "none", 8).error().code(), ErrorCode::kNotFound);
}

TEST_F(ReadFileTest, StopsAtItsBound) {
  Write(scratch_ / "config", std::string(100000, 'x'));
  EXPECT_EQ(ReadFile(scratch_ / "config", 100000)->size(), 100000u);
  EXPECT_EQ(ReadFile(scratch_ / "config", 99999).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(ReadFile("/dev/zero", 1 << 20).error().code(), ErrorCode::kTooLarge);
}

// Their size is 0 until they are read.
TEST_F(ReadFileTest, ReadsFilesOfTheKernel) {
  EXPECT_FALSE(ReadFile("/proc/self/status", 1 << 20)->empty());
}

// Opening a pipe that nobody writes to would never return.
TEST_F(ReadFileTest, WaitsForNoPipeWhereARegularFileIsWanted) {
  Write(scratch_ / "file", "text");
  EXPECT_EQ(*ReadRegularFile(scratch_ / "file", 4), "text");
  EXPECT_EQ(ReadRegularFile(scratch_ / "file", 3).error().code(), ErrorCode::kTooLarge);
  ASSERT_EQ(::mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadRegularFile(scratch_ / "pipe", 4).error().ToString(),
            (scratch_ / "pipe").string() +
                ": This is not a regular file. Write its contents to one first.");
}

TEST_F(ReadFileTest, NamesTheFileItCannotRead) {
  EXPECT_EQ(
      ReadFile(scratch_.path(), 10).error().ToString(),
      scratch_.path().string() + ": byte 0: Cannot read it: Is a directory. Name a file in it.");
  EXPECT_EQ(ReadFile(scratch_ / "absent", 10).error().code(), ErrorCode::kNotFound);
}

TEST_F(FileWriterTest, PutsTheFileInPlaceOnlyWhenItIsWhole) {
  Write(scratch_ / "out", "old");
  FileWriter writer = *FileWriter::Create(scratch_ / "out");
  ASSERT_TRUE(writer.Append(AsBytes("new ")).ok());
  ASSERT_TRUE(writer.Append(AsBytes("bytes")).ok());
  EXPECT_EQ(Read(scratch_ / "out"), "old");
  ASSERT_TRUE(writer.Commit().ok());
  EXPECT_EQ(Read(scratch_ / "out"), "new bytes");
  EXPECT_EQ(writer.bytes_written(), 9u);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FileWriterTest, LeavesNothingBehindWhenDropped) {
  {
    FileWriter writer = *FileWriter::Create(scratch_ / "out");
    ASSERT_TRUE(writer.Append(AsBytes("half")).ok());
    FileWriter moved = std::move(writer);
    EXPECT_EQ(Entries(), 1u);
  }
  EXPECT_EQ(Entries(), 0u);
}

// A disk that fills up half-way must not leave a half, nor take the old file away.
TEST_F(FileWriterTest, LeavesTheOldFileWhenWritingFails) {
  Write(scratch_ / "out", "old");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = WriteFileAtomically(scratch_ / "out", AsBytes(std::string(5000, 'x')));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_NE(std::signal(SIGXFSZ, handler), SIG_ERR);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().offset(), 4096u);
  EXPECT_EQ(Read(scratch_ / "out"), "old");
  EXPECT_EQ(Entries(), 1u);
}

// Better than after an hour of writing.
TEST_F(FileWriterTest, FailsAtOnceWhereItCannotSucceed) {
  EXPECT_EQ(FileWriter::Create(scratch_.path()).error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(FileWriter::Create(scratch_ / "absent" / "out").error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(FileWriter::Create("").ok());
  fs::permissions(scratch_.path(), fs::perms(0555));
  const Unprivileged user;
  EXPECT_FALSE(FileWriter::Create(scratch_ / "out").ok());
}

// A rename would take a device or a pipe away from everybody who uses it.
TEST_F(FileWriterTest, ReplacesNothingButAFile) {
  ASSERT_EQ(::mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", scratch_ / "link");
  for (const char* name : {"pipe", "link"}) {
    const auto written = WriteFileAtomically(scratch_ / name, AsBytes("x"));
    ASSERT_FALSE(written.ok()) << name;
    EXPECT_EQ(written.error().ToString(),
              (scratch_ / name).string() +
                  ": This is a pipe, and only a regular file can be replaced. Name another path.");
  }
  EXPECT_TRUE(fs::is_fifo(scratch_ / "pipe"));
  EXPECT_TRUE(fs::is_symlink(scratch_ / "link"));
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(FileWriterTest, ReplacesNothingThatCameInTheWayMeanwhile) {
  FileWriter writer = *FileWriter::Create(scratch_ / "out");
  ASSERT_EQ(::mkfifo((scratch_ / "out").c_str(), 0600), 0);
  EXPECT_FALSE(writer.Commit().ok());
  EXPECT_TRUE(fs::is_fifo(scratch_ / "out"));
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FileWriterTest, FollowsLinksToTheFile) {
  fs::create_directory(scratch_ / "disk");
  Write(scratch_ / "disk" / "file", "old");
  fs::create_symlink("disk/file", scratch_ / "near");
  fs::create_symlink(scratch_ / "near", scratch_ / "far");
  ASSERT_TRUE(WriteFileAtomically(scratch_ / "far", AsBytes("new")).ok());
  EXPECT_TRUE(fs::is_symlink(scratch_ / "far"));
  EXPECT_TRUE(fs::is_symlink(scratch_ / "near"));
  EXPECT_FALSE(fs::is_symlink(scratch_ / "disk" / "file"));
  EXPECT_EQ(Read(scratch_ / "disk" / "file"), "new");
  EXPECT_EQ(Entries(), 3u);
}

TEST_F(FileWriterTest, MakesTheFileThatALinkIsFor) {
  fs::create_symlink("absent", scratch_ / "link");
  ASSERT_TRUE(WriteFileAtomically(scratch_ / "link", AsBytes("new")).ok());
  EXPECT_TRUE(fs::is_symlink(scratch_ / "link"));
  EXPECT_EQ(Read(scratch_ / "absent"), "new");
}

TEST_F(FileWriterTest, FollowsNoLinksInACircle) {
  fs::create_symlink("b", scratch_ / "a");
  fs::create_symlink("a", scratch_ / "b");
  EXPECT_EQ(FileWriter::Create(scratch_ / "a").error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(FileWriterTest, WritesWhereTheProcessStands) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  EXPECT_TRUE(WriteFileAtomically("out", AsBytes("here")).ok());
  fs::current_path(before);
  EXPECT_EQ(Read(scratch_ / "out"), "here");
}

}  // namespace
}  // namespace kvcast
