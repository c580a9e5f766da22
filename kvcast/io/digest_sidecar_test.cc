#include "kvcast/io/digest_sidecar.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcast {
namespace {

const FileIdentity kFile = {146028888064, 1935630121000000007, 1935630122000000008, 4242};
const Digest kDigest = Sha256::Of("weights");

// The line is a contract with older and newer versions of kvcast.
TEST(DigestSidecar, IsWrittenAsDrawn) {
  EXPECT_EQ(SidecarLine(kFile, kDigest),
            "kvcast-digest 1 size=146028888064 mtime_ns=1935630121000000007 "
            "ctime_ns=1935630122000000008 inode=4242 "
            "sha256=9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c "
            "check=ded6bb22306f7615\n");
}

TEST(DigestSidecar, IsReadForTheSameFile) {
  EXPECT_EQ(DigestFromSidecar(SidecarLine(kFile, kDigest), kFile), kDigest);
}

TEST(DigestSidecar, IsNotReadForAFileThatChanged) {
  const std::string line = SidecarLine(kFile, kDigest);
  for (const auto change : {+[](FileIdentity& file) { file.bytes += 1; },
                            +[](FileIdentity& file) { file.mtime_ns += 1; },
                            +[](FileIdentity& file) { file.ctime_ns += 1; },
                            +[](FileIdentity& file) { file.inode += 1; }}) {
    FileIdentity changed = kFile;
    change(changed);
    EXPECT_EQ(DigestFromSidecar(line, changed), std::nullopt);
  }
}

// Anybody may give a file times that 64 bits of nanoseconds do not hold.
TEST(DigestSidecar, TellsTimesApartThatAreFarAway) {
  std::vector<FileIdentity> files;
  for (const time_t since_1970 :
       {-20'000'000'000L, 0L, 9'223'372'036, 9'223'372'037, 20'000'000'000}) {
    for (const long second_part : {854'775'807L, 854'775'808L}) {
      struct stat status {};
      status.st_mtim = {since_1970, second_part};
      files.push_back(FileIdentity::Of(status));
      EXPECT_EQ(DigestFromSidecar(SidecarLine(files.back(), kDigest), files.back()), kDigest);
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(files[i], files[j]);
      EXPECT_EQ(DigestFromSidecar(SidecarLine(files[i], kDigest), files[j]), std::nullopt);
    }
  }
}

// Tools that make images write one time into all of them, and number their files alike.
TEST(DigestSidecar, DoesNotTellFileSystemsApartWhoseTimesNoClockGave) {
  struct stat status {};
  status.st_mtim = {1'000'000'000, 5};
  for (const time_t since_1970 : {0L, 1L, 1'700'000'000L, -1L}) {
    status.st_ctim = {since_1970, 0};
    EXPECT_FALSE(FileIdentity::Of(status).TellsFileSystemsApart()) << since_1970;
    status.st_ctim.tv_nsec = 1;
    EXPECT_TRUE(FileIdentity::Of(status).TellsFileSystemsApart()) << since_1970;
  }
}

// A cut or edited line must cost a hash, never a wrong digest.
TEST(DigestSidecar, IsNotReadWhenAnyByteOfItIsWrong) {
  const std::string line = SidecarLine(kFile, kDigest);
  for (size_t i = 0; i < line.size(); ++i) {
    EXPECT_EQ(DigestFromSidecar(line.substr(0, i), kFile), std::nullopt);
    std::string edited = line;
    edited[i] = edited[i] == '1' ? '2' : '1';
    EXPECT_EQ(DigestFromSidecar(edited, kFile), std::nullopt);
  }
  EXPECT_EQ(DigestFromSidecar(line + "\n", kFile), std::nullopt);
}

}  // namespace
}  // namespace kvcast
