#include "kvcast/io/cgroup_limits.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "kvcast/io/kernel_setting.h"

namespace kvcast {
namespace {

namespace fs = std::filesystem;

// Version 1 writes "no limit" as the largest multiple of a page that fits.
constexpr uint64_t kUnlimitedBytes = uint64_t{1} << 60;

template <typename T>
void Tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) {
    limit = other;
  }
}

std::optional<uint64_t> MemoryMax(const fs::path& file) {
  const auto bytes = KernelNumber(file);  // "max" is no number, and no limit.
  return bytes && *bytes < kUnlimitedBytes ? bytes : std::nullopt;
}

std::optional<double> CoresMax(double quota_us, double period_us) {
  return quota_us > 0 && period_us > 0 ? std::optional(quota_us / period_us) : std::nullopt;
}

// "<quota> <period>", or "max <period>".
std::optional<double> CoresMaxV2(const fs::path& file) {
  std::istringstream text(KernelSetting(file).value_or(""));
  double quota_us = 0;
  double period_us = 0;
  return text >> quota_us >> period_us ? CoresMax(quota_us, period_us) : std::nullopt;
}

std::optional<double> CoresMaxV1(const fs::path& group) {
  // The quota is -1 without a limit, and thus not a number that KernelNumber() gives.
  const auto quota_us = KernelNumber(group / "cpu.cfs_quota_us");
  const auto period_us = KernelNumber(group / "cpu.cfs_period_us");
  return quota_us && period_us
             ? CoresMax(static_cast<double>(*quota_us), static_cast<double>(*period_us))
             : std::nullopt;
}

void ReadGroup(const fs::path& group, CgroupLimits& limits) {
  Tighten(limits.memory_bytes_max, MemoryMax(group / "memory.max"));
  Tighten(limits.memory_bytes_max, MemoryMax(group / "memory.limit_in_bytes"));
  Tighten(limits.cores_max, CoresMaxV2(group / "cpu.max"));
  Tighten(limits.cores_max, CoresMaxV1(group));
}

}  // namespace

CgroupLimits ReadCgroupLimits(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  CgroupLimits limits;
  std::istringstream groups(KernelSetting(root / "proc/self/cgroup").value_or(""));
  // <id>:<controllers>:<path>, where version 2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const fs::path controllers = line.substr(first + 1, second - first - 1);
    // Inside a container the path may be the host's, which is not to be found here: the groups
    // that are found are those that are seen from here.
    for (fs::path path = fs::path(line.substr(second + 1)).relative_path();;
         path = path.parent_path()) {
      ReadGroup(mount / controllers / path, limits);
      if (path.empty()) {
        break;
      }
    }
  }
  return limits;
}

}  // namespace kvcast
