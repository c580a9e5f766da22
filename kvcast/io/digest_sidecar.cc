#include "kvcast/io/digest_sidecar.h"

namespace kvcast {
namespace {

constexpr size_t kDigestDigits = 2 * Digest::kBytes;
constexpr size_t kCheckDigits = 16;
constexpr int64_t kSecond = 1'000'000'000;  // In nanoseconds.

// Modulo 2^64: times before 1678 and after 2262, which anybody may give a file, still differ from
// each other, and no two that are less than 584 years apart are taken for one.
int64_t Nanoseconds(const timespec& time) {
  return static_cast<int64_t>(static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
                              static_cast<uint64_t>(time.tv_nsec));
}

std::string LineStart(const FileIdentity& file) {
  return "kvcast-digest 1 size=" + std::to_string(file.bytes) +
         " mtime_ns=" + std::to_string(file.mtime_ns) +
         " ctime_ns=" + std::to_string(file.ctime_ns) + " inode=" + std::to_string(file.inode) +
         " sha256=";
}

}  // namespace

FileIdentity FileIdentity::Of(const struct stat& status) {
  return {static_cast<uint64_t>(status.st_size), Nanoseconds(status.st_mtim),
          Nanoseconds(status.st_ctim), status.st_ino};
}

bool FileIdentity::TellsFileSystemsApart() const { return ctime_ns % kSecond != 0; }

std::string SidecarLine(const FileIdentity& file, const Digest& digest) {
  const std::string line = LineStart(file) + digest.ToHex();
  return line + " check=" + Sha256::Of(line).ToHex().substr(0, kCheckDigits) + "\n";
}

std::optional<Digest> DigestFromSidecar(std::string_view line, const FileIdentity& file) {
  // All but the digest is known, so there is nothing to parse: cut it out, and see whether the
  // line is the one that we would have written.
  const size_t start = LineStart(file).size();
  if (line.size() <= start) {
    return std::nullopt;
  }
  const auto digest = Digest::FromHex(line.substr(start, kDigestDigits));
  return digest.ok() && line == SidecarLine(file, *digest) ? std::optional(*digest) : std::nullopt;
}

}  // namespace kvcast
