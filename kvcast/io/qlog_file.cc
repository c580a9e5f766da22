#include "kvcast/io/qlog_file.h"

namespace kvcast {

std::unique_ptr<QlogFile> QlogFile::Make(const std::filesystem::path& path, uint64_t bytes_max) {
  std::FILE* const file = std::fopen(path.c_str(), "wxe");  // Never over another's.
  return file == nullptr ? nullptr : std::unique_ptr<QlogFile>(new QlogFile(file, bytes_max));
}

QlogFile::~QlogFile() { (void)std::fclose(file_); }

void QlogFile::Write(const void* event, size_t bytes) {
  if (bytes > bytes_left_ || std::fwrite(event, 1, bytes, file_) != bytes) {
    bytes_left_ = 0;
    return;
  }
  bytes_left_ -= bytes;
}

}  // namespace kvcast
