#include "kvcast/host/cache_directory.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "kvcast/host/disk_flag.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

// Of what is free: whoever has not asked for it must not notice it.
constexpr uint64_t kCacheShare = 10;
constexpr uint64_t kCacheBytesMost = uint64_t{10} << 30;

std::filesystem::path UsersCache() {
  // As the XDG specification has it, a path that is not absolute counts as none.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::filesystem::path(cache) / "kvcast";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::filesystem::path(home) / ".cache" / "kvcast";
  }
  return {};
}

}  // namespace

Result<CacheDirectory> CacheDirectory::Of(const std::string& directory, const std::string& bytes) {
  CacheDirectory cache;
  if (directory != "none") {
    cache.path = directory == "auto" ? UsersCache() : std::filesystem::path(directory);
  }
  if (cache.path.empty()) {
    return cache;
  }
  std::error_code failed;
  if (std::filesystem::create_directories(cache.path, failed)) {
    std::filesystem::permissions(cache.path, std::filesystem::perms::owner_all, failed);
  }
  if (bytes != "auto") {
    KVCAST_TRY(cache.bytes, ParseBytes(bytes));
    return cache;
  }
  DiskFlag disk;
  disk.directory = cache.path;
  const Result<uint64_t> half = disk.DefaultBytes();
  if (!half.ok()) {
    return directory == "auto" ? Result<CacheDirectory>(CacheDirectory())
                               : Result<CacheDirectory>(half.error());
  }
  cache.bytes = std::min(*half / (kCacheShare / 2), kCacheBytesMost);
  return cache;
}

}  // namespace kvcast
