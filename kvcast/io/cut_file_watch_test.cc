#include "kvcast/io/cut_file_watch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <fstream>
#include <string>

#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

class CutFileWatch : public testing::Test {
 protected:
  fs::path Written(const std::string& name) {
    std::ofstream(scratch_ / name) << std::string(100'000, 'x');
    return scratch_ / name;
  }
  // Touches the last byte of what was mapped.
  static int LastOf(const MappedFile& file) {
    return std::to_integer<int>(*static_cast<const volatile std::byte*>(&file.span().back()));
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
};

TEST_F(CutFileWatch, EndsTheProgramWithTheNameOfTheFileThatWasCut) {
  const auto cut = [this] {
    EndOnCutFiles("kvcast");
    const MappedFile other = *MappedFile::Open(Written("other"));
    const MappedFile file = *MappedFile::Open(Written("cache"));
    fs::resize_file(file.path(), 10);
    std::exit(LastOf(other) == 'x' && LastOf(file) == 'x' ? 7 : 8);
  };
  EXPECT_EXIT(cut(), testing::ExitedWithCode(1),
              "^kvcast: /.*/cache: It became shorter while it was read\\.");
}

TEST_F(CutFileWatch, KnowsAFileWhoseMappingChangedHands) {
  const auto cut = [this] {
    EndOnCutFiles("kvcast");
    MappedFile first = *MappedFile::Open(Written("first"));
    MappedFile second = *MappedFile::Open(Written("second"));
    second = std::move(first);
    fs::resize_file(second.path(), 0);
    std::exit(LastOf(second));
  };
  EXPECT_EXIT(cut(), testing::ExitedWithCode(1), "first: It became shorter");
}

// A fault that has nothing to do with a file of ours must not be taken for one.
TEST_F(CutFileWatch, LeavesOtherFaultsAlone) {
  const auto touch = [this] {
    EndOnCutFiles("kvcast");
    { const MappedFile forgotten = *MappedFile::Open(Written("forgotten")); }
    const fs::path path = Written("not ours");
    std::FILE* const file = std::fopen(path.c_str(), "r");
    const auto* const memory = static_cast<const volatile char*>(
        ::mmap(nullptr, 100'000, PROT_READ, MAP_PRIVATE, ::fileno(file), 0));
    fs::resize_file(path, 0);
    std::exit(memory[99'999]);
  };
  EXPECT_EXIT(touch(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace kvcast
