#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace kvcast {

// What a container or a service unit leaves this process of the machine. Absent is unlimited.
struct CgroupLimits {
  std::optional<uint64_t> memory_bytes_max;
  std::optional<double> cores_max;
};

// Both versions of control groups, and the tightest limit of all groups that this process is in.
// `root` is where /proc and /sys are: a test makes its own.
CgroupLimits ReadCgroupLimits(const std::filesystem::path& root = "/");

}  // namespace kvcast
