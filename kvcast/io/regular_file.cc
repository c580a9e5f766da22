#include "kvcast/io/regular_file.h"

#include <fcntl.h>

#include <cerrno>

#include "kvcast/io/system_error.h"

namespace kvcast {

Error NoFileNamed() { return Error(ErrorCode::kInvalid, "No file is named: the path is empty."); }

Result<RegularFile> OpenRegular(const std::filesystem::path& path) {
  if (path.empty()) {
    return NoFileNamed();
  }
  RegularFile file;
  // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
  file.descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.descriptor) {
    return SystemError("Cannot open it", errno);
  }
  if (::fstat(file.descriptor.number(), &file.status) != 0) {
    return SystemError("Cannot look at it", errno);
  }
  if (S_ISDIR(file.status.st_mode)) {
    return Error(ErrorCode::kInvalid, "This is a directory. Name a file in it.");
  }
  if (!S_ISREG(file.status.st_mode)) {
    return Error(ErrorCode::kInvalid,
                 "This is not a regular file. Write its contents to one first.");
  }
  return file;
}

}  // namespace kvcast
