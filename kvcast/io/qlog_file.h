#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace kvcast {

// What one connection did, as qlog: a file that tools such as qvis show.
class QlogFile {
 public:
  // Null where it cannot be made: nobody's connection fails for want of a log.
  static std::unique_ptr<QlogFile> Make(const std::filesystem::path& path, uint64_t bytes_max);
  ~QlogFile();
  QlogFile(const QlogFile&) = delete;
  QlogFile& operator=(const QlogFile&) = delete;

  // One event, whole. Those beyond the file's size are left out.
  void Write(const void* event, size_t bytes);

 private:
  QlogFile(std::FILE* file, uint64_t bytes_left) : file_(file), bytes_left_(bytes_left) {}

  std::FILE* file_;
  uint64_t bytes_left_;
};

}  // namespace kvcast
