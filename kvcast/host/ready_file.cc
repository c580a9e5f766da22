#include "kvcast/host/ready_file.h"

#include <system_error>

#include "kvcast/base/bytes.h"
#include "kvcast/io/file.h"

namespace kvcast {

ReadyFile::~ReadyFile() {
  std::error_code ignored;  // It is said to be gone at the end, not relied upon.
  if (IsOurs()) {
    // Where a link leads to, rather than the link, which is not ours.
    std::filesystem::remove(std::filesystem::canonical(path_, ignored), ignored);
  }
}

Result<void> ReadyFile::Write(const std::string& address) {
  if (path_.empty()) {
    return {};
  }
  written_ = address + "\n";
  return WriteFileAtomically(path_, AsBytes(written_));
}

bool ReadyFile::IsOurs() const {
  if (written_.empty()) {
    return false;
  }
  const Result<std::string> found = ReadRegularFile(path_, written_.size());
  return found.ok() && *found == written_;
}

}  // namespace kvcast
