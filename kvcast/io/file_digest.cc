#include "kvcast/io/file_digest.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "kvcast/io/clock.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/digest_sidecar.h"
#include "kvcast/io/file.h"
#include "kvcast/io/regular_file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestReadBytes = 4 * 1024 * 1024;
// How far ahead of the hash the disk is kept busy.
constexpr off_t kReadAheadBytes = 16 * 1024 * 1024;
constexpr size_t kSidecarBytesMax = 512;

// With every symbolic link followed, so that one file has one digest however it is reached.
Result<fs::path> RealPath(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::canonical(path, failed);
  if (failed) {
    return SystemError("Cannot open it", failed.value());
  }
  return real;
}

std::optional<fs::path> CacheDirectory(const DigestOptions& options) {
  if (options.cache_directory) {
    return options.cache_directory;
  }
  const fs::path below = fs::path("kvcast") / "digests";
  // The XDG specification tells readers to ignore what is not an absolute path.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return cache / below;
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return home / (".cache" / below);
  }
  return std::nullopt;
}

struct Sidecar {
  fs::path path;
  mode_t mode = 0;  // When it is written. Whatever the umask, others only ever read it.
};

// Where a digest may be kept, in order of preference. One beside its file goes where the file
// system goes; one in the cache is found by the path, whatever is mounted there.
std::vector<Sidecar> SidecarsOf(const fs::path& real, const FileIdentity& file,
                                const DigestOptions& options) {
  std::vector<Sidecar> sidecars = {{real.string() + ".kvcast-digest", 0644}};
  if (const auto cache = CacheDirectory(options); cache && file.TellsFileSystemsApart()) {
    sidecars.push_back({*cache / Sha256::Of(real.string()).ToHex(), 0600});
  }
  return sidecars;
}

// Anybody may put a file into /tmp beside one of ours, and some give a group the right to write
// what they create; only a few are believed, and only where nobody else could have written. The
// file's owner is not among them: with a digest of other weights, whose caches he may then fill, he
// could do more than with the file.
bool Believed(const struct stat& sidecar) {
  return S_ISREG(sidecar.st_mode) && (sidecar.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         (sidecar.st_uid == 0 || sidecar.st_uid == ::geteuid());
}

std::optional<Digest> ReadKept(const fs::path& path, const RegularFile& file) {
  const Descriptor sidecar(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!sidecar || ::fstat(sidecar.number(), &status) != 0 || !Believed(status)) {
    return std::nullopt;
  }
  std::array<char, kSidecarBytesMax> line{};
  const ssize_t bytes = ::read(sidecar.number(), line.data(), line.size());
  if (bytes <= 0) {
    return std::nullopt;
  }
  return DigestFromSidecar({line.data(), static_cast<size_t>(bytes)},
                           FileIdentity::Of(file.status));
}

// Before the file is read: why may it change later without its times telling? Absent when it
// cannot.
std::optional<std::string> WhyNotToKeep(RegularFile& file, const DigestOptions& options) {
  // The first store into a page through a mapping sets the file's times; those that follow do not,
  // until the page has been written to disk. So it is written now.
  if (::fdatasync(file.descriptor.number()) != 0 ||
      ::fstat(file.descriptor.number(), &file.status) != 0) {
    return "it cannot be synced to disk";
  }
  struct statfs system {};
  if (::fstatfs(file.descriptor.number(), &system) != 0 || system.f_type == TMPFS_MAGIC ||
      system.f_type == RAMFS_MAGIC) {
    return "its file system does not tell when a mapping is written to";
  }
  const FileIdentity identity = FileIdentity::Of(file.status);
  const auto changed = WallTime(Duration(std::max(identity.mtime_ns, identity.ctime_ns)));
  if (changed > WallNow() - options.settled_after) {
    return "it was written just now";
  }
  return std::nullopt;
}

Result<Digest> Hash(const RegularFile& file, const DigestOptions& options) {
  const int descriptor = file.descriptor.number();
  const auto total = static_cast<uint64_t>(file.status.st_size);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> buffer(kDigestReadBytes);
  Sha256 hash;
  uint64_t done = 0;
  while (true) {
    ::posix_fadvise(descriptor, static_cast<off_t>(done), kReadAheadBytes, POSIX_FADV_WILLNEED);
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return SystemError("Cannot read it", errno).At(done);
    }
    if (got == 0) {
      return hash.Finish();
    }
    hash.Update(std::span(buffer).first(static_cast<size_t>(got)));
    done += static_cast<uint64_t>(got);
    if (options.progress) {
      options.progress(done, std::max(done, total));
    }
  }
}

// Asks the path and not the descriptor, so that a file put in its place is noticed too.
Result<void> CheckUnchanged(const fs::path& real, const RegularFile& file) {
  struct stat now {};
  if (::stat(real.c_str(), &now) != 0 || FileIdentity::Of(now) != FileIdentity::Of(file.status)) {
    return Error(ErrorCode::kMismatch,
                 "The file changed while its digest was taken. Try again when nothing writes to "
                 "it any more.");
  }
  return {};
}

// Where the first of `sidecars` is that can be written.
void Keep(const std::string& line, const std::vector<Sidecar>& sidecars, const Log& log) {
  std::string reason;
  for (const Sidecar& sidecar : sidecars) {
    std::error_code ignored;  // Then writing says what is wrong.
    fs::create_directories(sidecar.path.parent_path(), ignored);
    const auto written = WriteFileAtomically(sidecar.path, AsBytes(line), sidecar.mode);
    if (written.ok()) {
      return;
    }
    reason = written.error().ToString();
  }
  log.Warning("digest not kept", {{"sidecar", sidecars.front().path.string()}, {"reason", reason}});
}

Result<Digest> Take(const fs::path& path, const DigestOptions& options) {
  KVCAST_TRY(const fs::path real, RealPath(path));
  KVCAST_TRY(RegularFile file, OpenRegular(real));
  if (static_cast<uint64_t>(file.status.st_size) < options.kept_bytes_min) {
    KVCAST_TRY(const Digest digest, Hash(file, options));
    KVCAST_TRY_VOID(CheckUnchanged(real, file));
    return digest;
  }
  const std::vector<Sidecar> sidecars = SidecarsOf(real, FileIdentity::Of(file.status), options);
  for (const Sidecar& sidecar : sidecars) {
    if (const auto kept = ReadKept(sidecar.path, file)) {
      return *kept;
    }
  }
  const auto why_not = WhyNotToKeep(file, options);
  KVCAST_TRY(const Digest digest, Hash(file, options));
  KVCAST_TRY_VOID(CheckUnchanged(real, file));
  if (why_not) {
    options.log.Info("digest not kept", {{"file", real.string()}, {"reason", *why_not}});
  } else {
    Keep(SidecarLine(FileIdentity::Of(file.status), digest), sidecars, options.log);
  }
  return digest;
}

}  // namespace

Result<Digest> DigestFile(const fs::path& path, const DigestOptions& options) {
  auto digest = Take(path, options);
  if (!digest.ok()) {
    return std::move(digest).error().In(path.string());
  }
  return digest;
}

}  // namespace kvcast
