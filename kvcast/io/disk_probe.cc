#include "kvcast/io/disk_probe.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/io/aligned_buffer.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStepBytes = 4 * 1024 * 1024;
constexpr size_t kAlignment = 4096;  // Enough for O_DIRECT on any disk.
constexpr size_t kSyncs = 64;
constexpr Duration kSyncTimeMax = std::chrono::milliseconds(500);

struct Magic {
  uint64_t number;
  const char* name;
};
constexpr Magic kFileSystems[] = {
    {EXT4_SUPER_MAGIC, "ext4"},   {XFS_SUPER_MAGIC, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"}, {F2FS_SUPER_MAGIC, "f2fs"},
    {TMPFS_MAGIC, "tmpfs"},       {RAMFS_MAGIC, "ramfs"},
    {NFS_SUPER_MAGIC, "nfs"},     {OVERLAYFS_SUPER_MAGIC, "overlay"},
    {FUSE_SUPER_MAGIC, "fuse"},   {CEPH_SUPER_MAGIC, "ceph"},
    {CIFS_SUPER_MAGIC, "cifs"},   {SMB2_SUPER_MAGIC, "cifs"},  // SMB 2 and 3.
    {V9FS_MAGIC, "9p"},           {0x2fc12fc1, "zfs"},
    {0xca451a4e, "bcachefs"},
};

}  // namespace

std::string FileSystemName(uint64_t magic) {
  const auto* const known = std::ranges::find(kFileSystems, magic, &Magic::number);
  if (known != std::end(kFileSystems)) {
    return known->name;
  }
  std::array<std::byte, 4> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(magic >> (24 - 8 * i));
  }
  return "0x" + ToHex(bytes);
}

namespace {

// Aligned as O_DIRECT wants it, and filled with what no disk can compress.
class Buffer {
 public:
  Buffer() : memory_(MakeAlignedBuffer(kStepBytes)) {
    KVCAST_CHECK(memory_ != nullptr);
    FillRandom(span());
  }
  std::span<std::byte> span() const { return {memory_.get(), kStepBytes}; }

 private:
  AlignedBuffer memory_;
};

// A file without a name, in `directory`.
Descriptor OpenUnnamed(const fs::path& directory, int flags) {
  std::string name = directory / ".kvcast-disk-XXXXXX";
  Descriptor file(::mkostemp(name.data(), flags | O_CLOEXEC));
  if (file) {
    const int error_number = errno;
    ::unlink(name.c_str());
    errno = error_number;
  }
  return file;
}

class Trial {
 public:
  Trial(Descriptor file, uint64_t bytes_max, const DiskProbeOptions& options)
      : file_(std::move(file)), bytes_max_(bytes_max), options_(options) {}

  // How fast, and how much was written before time ran out: until it lies on the disk.
  Result<double> Write() {
    const Instant start = Now();
    while (written_ < bytes_max_ && Now() < start + options_.time_max) {
      const ssize_t step =
          ::pwrite(file_.number(), buffer_.span().data(), kStepBytes, static_cast<off_t>(written_));
      if (step != kStepBytes) {
        return SystemError("Cannot write a test file here", step < 0 ? errno : ENOSPC);
      }
      written_ += kStepBytes;
      Report(written_);
    }
    if (::fdatasync(file_.number()) != 0) {
      return SystemError("Cannot sync a test file here", errno);
    }
    return PerSecond(written_, start);
  }

  Result<double> Read() {
    // Only where O_DIRECT is refused are these pages in memory at all.
    ::posix_fadvise(file_.number(), 0, 0, POSIX_FADV_DONTNEED);
    const Instant start = Now();
    uint64_t read = 0;
    while (read < written_ && Now() < start + options_.time_max) {
      const ssize_t step =
          ::pread(file_.number(), buffer_.span().data(), kStepBytes, static_cast<off_t>(read));
      if (step != kStepBytes) {
        return SystemError("Cannot read the test file back", step < 0 ? errno : EIO);
      }
      read += kStepBytes;
      Report(bytes_max_ + read);
    }
    return PerSecond(read, start);
  }

  // How long each of a few small writes took to be safe, fastest first.
  Result<std::vector<Duration>> Sync() {
    const Instant start = Now();
    std::vector<Duration> times;
    while (times.empty() || (times.size() < kSyncs && Now() < start + kSyncTimeMax)) {
      const Instant before = Now();
      if (::pwrite(file_.number(), buffer_.span().data(), kAlignment, 0) != kAlignment ||
          ::fdatasync(file_.number()) != 0) {
        return SystemError("Cannot sync a test file here", errno);
      }
      times.push_back(Now() - before);
    }
    std::ranges::sort(times);
    return times;
  }

 private:
  static double PerSecond(uint64_t bytes, Instant start) {
    const std::chrono::duration<double> seconds = Now() - start;
    return static_cast<double>(bytes) / std::max(seconds.count(), 1e-9);
  }
  void Report(uint64_t done) const {
    if (options_.progress) {
      options_.progress(done, 2 * bytes_max_);
    }
  }

  Descriptor file_;
  Buffer buffer_;
  uint64_t bytes_max_;
  uint64_t written_ = 0;
  const DiskProbeOptions& options_;
};

Result<DiskFacts> Probe(const fs::path& directory, const DiskProbeOptions& options) {
  struct statfs system {};
  if (::statfs(directory.c_str(), &system) != 0) {
    return SystemError("Cannot look at it", errno);
  }
  const auto block_bytes = static_cast<uint64_t>(system.f_bsize);
  DiskFacts facts;
  facts.directory = directory;
  facts.file_system = FileSystemName(static_cast<uint64_t>(system.f_type));
  facts.free_bytes = system.f_bavail * block_bytes;
  facts.total_bytes = system.f_blocks * block_bytes;
  const uint64_t bytes = std::min(options.bytes_max, facts.free_bytes / 4);
  if (bytes < kStepBytes) {
    return Error(ErrorCode::kMachine,
                 "There is too little space to test this disk: free 16 MiB, or name another "
                 "directory.");
  }
  Descriptor file = OpenUnnamed(directory, O_DIRECT);
  facts.direct = static_cast<bool>(file);
  if (!file) {
    file = OpenUnnamed(directory, O_DSYNC);  // Else a slow disk would be found out at the end.
  }
  if (!file) {
    return SystemError("Cannot create a test file here", errno);
  }
  Trial trial(std::move(file), bytes / kStepBytes * kStepBytes, options);
  KVCAST_TRY(facts.write_bytes_per_s, trial.Write());
  KVCAST_TRY(facts.read_bytes_per_s, trial.Read());
  KVCAST_TRY(const std::vector<Duration> syncs, trial.Sync());
  facts.sync_median = syncs[syncs.size() / 2];
  facts.sync_slowest = syncs.back();
  return facts;
}

}  // namespace

Result<DiskFacts> ProbeDisk(const fs::path& directory, const DiskProbeOptions& options) {
  auto facts = Probe(directory, options);
  if (!facts.ok()) {
    return std::move(facts).error().In(directory.string());
  }
  return facts;
}

}  // namespace kvcast
