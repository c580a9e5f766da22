#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"

namespace kvcast {

// What changes when a file's contents do. mtime alone would not do: `cp -p` and `touch -r` set it
// back. Nobody can set ctime of a file that is there, so one that is renamed or linked is hashed
// again too: time lost, but never a wrong digest.
struct FileIdentity {
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t inode = 0;

  static FileIdentity Of(const struct stat& status);
  // Whether it holds when another file system may be mounted in this one's place. Who makes an
  // image of a file system writes ctime too, in whole seconds, often the same into every image, and
  // inodes come out alike: then two images with other contents look like one.
  bool TellsFileSystemsApart() const;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// A sidecar keeps a file's digest for as long as the file stays as it is. One line of text:
//
//   sidecar := "kvcast-digest 1 size=" u64 " mtime_ns=" i64 " ctime_ns=" i64 " inode=" u64
//              " sha256=" hex[64] " check=" hex[16] "\n"
//   check   := the first 16 digits of the SHA-256 of everything before " check="
//
// Times are nanoseconds modulo 2^64, as a signed number. The check is for lines that were cut or
// edited by accident; it keeps no enemy out. Whose sidecar is believed is for its reader to decide.
std::string SidecarLine(const FileIdentity& file, const Digest& digest);

// The digest in `line`, if it was written by SidecarLine() for exactly this file: anything else
// about it, and it is absent.
std::optional<Digest> DigestFromSidecar(std::string_view line, const FileIdentity& file);

}  // namespace kvcast
