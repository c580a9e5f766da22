#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"

namespace kvcast {

// What a directory is worth as a disk tier.
struct DiskFacts {
  std::filesystem::path directory;
  std::string file_system;  // "ext4"; a number in hex if it is one that we do not know by name.
  uint64_t free_bytes = 0;  // For this user.
  uint64_t total_bytes = 0;
  bool direct = false;  // Whether files can be read and written past the page cache (O_DIRECT).
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  // Until 4 KiB are safe from a loss of power: the median, and the slowest seen.
  Duration sync_median{};
  Duration sync_slowest{};
};

// By the number that the kernel has for its kind (statfs).
std::string FileSystemName(uint64_t magic);

struct DiskProbeOptions {
  // The test writes and then reads at most so much, and takes at most so long for either.
  uint64_t bytes_max = 256 * 1024 * 1024;
  Duration time_max = std::chrono::milliseconds(1500);
  // Called now and then; `done` reaches `total` unless time runs out before.
  std::function<void(uint64_t bytes_done, uint64_t bytes_total)> progress;
};

// Writes a temporary file into `directory`, in sequence, and reads it again; never more than a
// quarter of the free space. The file has no name, so nothing is left behind however this ends.
Result<DiskFacts> ProbeDisk(const std::filesystem::path& directory,
                            const DiskProbeOptions& options = {});

}  // namespace kvcast
