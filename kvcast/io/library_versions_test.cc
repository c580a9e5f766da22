#include "kvcast/io/library_versions.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(LibraryVersions, AreNumbersOfLibrariesInUse) {
  const std::vector<LibraryVersion> versions = LibraryVersions();
  ASSERT_FALSE(versions.empty());
  for (const LibraryVersion& library : versions) {
    EXPECT_FALSE(library.name.empty());
    EXPECT_NE(library.version.find('.'), std::string::npos) << library.name;
  }
}

}  // namespace
}  // namespace kvcast
