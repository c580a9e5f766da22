#pragma once

#include <filesystem>

#include "kvcast/base/result.h"

namespace kvcast {

// A new, empty directory that is removed, with all it holds, together with this object.
class ScratchDirectory {
 public:
  // Under `parent`; without one, where the system keeps temporary files.
  static Result<ScratchDirectory> Make(std::filesystem::path parent = {});

  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  ~ScratchDirectory();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace kvcast
