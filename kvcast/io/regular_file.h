#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"

namespace kvcast {

// A file that is opened for reading and is what people call a file: not a directory, and not a pipe
// or a device, whose size means nothing.
struct RegularFile {
  Descriptor descriptor;
  struct stat status {};  // As it was when it was opened.
};

Error NoFileNamed();  // The path is empty.
// Errors do not name the file: whoever opens it adds that, with Error::In().
Result<RegularFile> OpenRegular(const std::filesystem::path& path);

}  // namespace kvcast
