#include "kvcast/io/scratch_directory.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "kvcast/io/system_error.h"

namespace kvcast {

Result<ScratchDirectory> ScratchDirectory::Make(std::filesystem::path parent) {
  if (parent.empty()) {
    std::error_code failed;
    parent = std::filesystem::temp_directory_path(failed);
    if (failed) {
      return SystemError("There is no directory for temporary files (TMPDIR)", failed.value());
    }
  }
  std::string path = parent / "kvcast-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return SystemError("Cannot make a directory here", errno).In(parent.string());
  }
  return ScratchDirectory(path);
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;  // What cannot be removed is not worth dying for.
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace kvcast
