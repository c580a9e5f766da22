#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/host/flag_words.h"
#include "kvcast/store/disk_format.h"

namespace kvcast {

// A directory in which a node keeps objects, as it is typed.
// The policies that may say what goes when there is no more room: those of EvictionNames().
inline constexpr char kEvictionWords[] = "lru|lfu|s3fifo|default";
inline constexpr char kDiskGrammar[] =
    "DIR[,bytes=SIZE][,class=ssd|hdd][,admit=all|second]"
    "[,evict=lru|lfu|s3fifo|default]";
struct DiskFlag {
  std::filesystem::path directory;
  std::optional<uint64_t> bytes;  // Absent: as much as DefaultBytes() finds.
  DiskClass disk_class = DiskClass::kSsd;
  std::string admission = "all";
  std::optional<std::string> eviction;  // Absent: as in memory.

  // Invalid: it says something else.
  static Result<DiskFlag> Parse(std::string_view text);
  // The same of what is said in several places.
  static Result<DiskFlag> Of(const FlagWords& typed);
  // Half of what the directory's file system has for it: what is free, and what the directory
  // takes already.
  Result<uint64_t> DefaultBytes() const;
};

}  // namespace kvcast
