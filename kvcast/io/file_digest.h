#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "kvcast/base/digest.h"
#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"

namespace kvcast {

struct DigestOptions {
  // Called now and then while a file is read.
  std::function<void(uint64_t bytes_done, uint64_t bytes_total)> progress;
  // Told when a digest could not be kept, and why.
  Log log;
  // Digests of smaller files are taken afresh every time: that costs less than a second file
  // beside each of them is worth.
  uint64_t kept_bytes_min = 16 * 1024 * 1024;
  // Where digests go that cannot lie beside their file. Unset: $XDG_CACHE_HOME/kvcast/digests, or
  // ~/.cache/kvcast/digests.
  std::optional<std::filesystem::path> cache_directory;
  // A file that changed more recently than this may change again without its times telling, so
  // its digest is not kept. It covers how coarsely file systems keep time, and how far the clock
  // of a file server may be from ours.
  Duration settled_after = std::chrono::seconds(2);
};

// The SHA-256 of a file, taken once: the weights of a large model take minutes to read, and their
// digest is asked for at every start.
//
// It is kept in <file>.kvcast-digest beside the file (see digest_sidecar.h; symbolic links are
// followed first), or where that cannot be written, in the cache directory under the SHA-256 of
// the file's path; there only if ctime has a fraction of a second, which images of file systems
// that take turns at one path do not give it. A kept digest is used only while size, mtime, ctime
// and inode are what they were, and if nobody but root or this user can have written it: what
// another user wrote, be it the file's owner, or a group or the world may write, is not believed. A
// file that changes while it is read is an error.
//
// Files on tmpfs are hashed every time, because it does not tell when a mapping is written to.
Result<Digest> DigestFile(const std::filesystem::path& path, const DigestOptions& options = {});

}  // namespace kvcast
