#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "kvcast/base/result.h"

namespace kvcast {

// A file that is there while the node can be used. One of a node that was killed is replaced; one
// that another node has put in its place stays.
class ReadyFile {
 public:
  explicit ReadyFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  // REQUIRES: the node is bound to its address, which no other node has then.
  Result<void> Write(const std::string& address);

 private:
  bool IsOurs() const;

  std::filesystem::path path_;
  std::string written_;
};

}  // namespace kvcast
