#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "kvcast/base/result.h"

namespace kvcast {

// Where a node keeps blocks on disk that was told of no disk.
struct CacheDirectory {
  std::filesystem::path path;  // Empty: nowhere.
  uint64_t bytes = 0;

  // As they are configured: a path, "none", or "auto" for $XDG_CACHE_HOME/kvcast or
  // ~/.cache/kvcast, and for a tenth of what is free there, at most 10 GiB. What the directory
  // takes already counts as free. "auto" where there is no home, or no directory to be made, is
  // nowhere; another path that cannot be used is an error. Makes the directory, for its owner
  // alone.
  static Result<CacheDirectory> Of(const std::string& directory, const std::string& bytes);
};

}  // namespace kvcast
