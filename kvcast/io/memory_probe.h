#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kvcast/base/result.h"

namespace kvcast {

struct MemoryFacts {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;              // Without swapping, as the kernel estimates it.
  std::optional<uint64_t> cgroup_bytes_max;  // What this process's control group grants.
  // "always", "madvise" or "never"; empty where the kernel has none.
  std::string transparent_huge_pages;
  // Huge pages that an administrator has set aside, and how large one is.
  uint64_t huge_pages = 0;
  uint64_t huge_pages_free = 0;
  uint64_t huge_page_bytes = 0;
};

// `root` is where /proc and /sys are: a test makes its own.
Result<MemoryFacts> ProbeMemory(const std::filesystem::path& root = "/");

}  // namespace kvcast
