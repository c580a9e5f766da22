#include "kvcast/host/cache_directory.h"

#include <gtest/gtest.h>

#include <optional>

#include "kvcast/host/environment_variable_test.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

TEST(CacheDirectory, IsTheUsersAndLeavesMostOfTheDisk) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::filesystem::path home = scratch.path() / "home";
  const EnvironmentVariable cache("XDG_CACHE_HOME", std::nullopt);
  const EnvironmentVariable home_is("HOME", home.c_str());
  const CacheDirectory found = *CacheDirectory::Of("auto", "auto");
  EXPECT_EQ(found.path, home / ".cache/kvcast");
  EXPECT_LE(found.bytes, uint64_t{10} << 30);
  EXPECT_LE(found.bytes, std::filesystem::space(found.path).available / 5);
  EXPECT_EQ(std::filesystem::status(found.path).permissions(), std::filesystem::perms::owner_all);
}

TEST(CacheDirectory, IsElsewhereOrNowhereIfToldSo) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const EnvironmentVariable cache("XDG_CACHE_HOME", scratch.path().c_str());
  EXPECT_EQ(CacheDirectory::Of("auto", "1GiB")->path, scratch.path() / "kvcast");
  EXPECT_EQ(CacheDirectory::Of("auto", "1GiB")->bytes, uint64_t{1} << 30);
  EXPECT_TRUE(CacheDirectory::Of("none", "auto")->path.empty());
  EXPECT_EQ(CacheDirectory::Of((scratch / "own").string(), "auto")->path, scratch / "own");
}

// A node that was told nothing starts on any machine.
TEST(CacheDirectory, IsNowhereWithoutAHome) {
  const EnvironmentVariable cache("XDG_CACHE_HOME", "relative");
  const EnvironmentVariable home("HOME", std::nullopt);
  EXPECT_TRUE(CacheDirectory::Of("auto", "auto")->path.empty());
  const EnvironmentVariable file("XDG_CACHE_HOME", "/dev/null");
  EXPECT_TRUE(CacheDirectory::Of("auto", "auto")->path.empty());
  EXPECT_FALSE(CacheDirectory::Of("/dev/null/cache", "auto").ok());
}

}  // namespace
}  // namespace kvcast
