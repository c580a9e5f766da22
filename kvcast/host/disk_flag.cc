#include "kvcast/host/disk_flag.h"

#include <algorithm>
#include <system_error>

#include "kvcast/host/flag_words.h"
#include "kvcast/io/human_units.h"
#include "kvcast/store/eviction.h"

namespace kvcast {
namespace {

Error BadDisk(const std::string& what) {
  return Error(ErrorCode::kInvalid, what + ". It is " + kDiskGrammar);
}

}  // namespace

Result<DiskFlag> DiskFlag::Parse(std::string_view text) {
  const FlagWords typed(text);
  if (typed.where.empty()) {
    return BadDisk("There is no directory in '" + std::string(text) + "'");
  }
  return Of(typed);
}

Result<DiskFlag> DiskFlag::Of(const FlagWords& typed) {
  DiskFlag flag;
  flag.directory = std::string(typed.where);
  if (flag.directory.empty()) {
    return BadDisk("There is no directory");
  }
  for (const auto& [word, name, value] : typed.words) {
    if (name == "bytes") {
      const Result<uint64_t> bytes = ParseBytes(value);
      if (!bytes.ok()) {
        return BadDisk(bytes.error().message());
      }
      flag.bytes = *bytes;
    } else if (name == "class" && (value == "ssd" || value == "hdd")) {
      flag.disk_class = value == "hdd" ? DiskClass::kHdd : DiskClass::kSsd;
    } else if (name == "admit" && (value == "all" || value == "second")) {
      flag.admission = value;
    } else if (name == "evict" && std::ranges::count(EvictionNames(), value) > 0) {
      flag.eviction = value;
    } else {
      return BadDisk("'" + std::string(word) + "' says nothing");
    }
  }
  return flag;
}

Result<uint64_t> DiskFlag::DefaultBytes() const {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::filesystem::space_info space = std::filesystem::space(directory, error);
  if (error) {
    return Error(ErrorCode::kMachine, "Cannot tell how much room there is: " + error.message())
        .In(directory.string());
  }
  uint64_t taken = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::error_code ignored;  // A file that goes meanwhile takes nothing.
    const uint64_t size = entry.is_regular_file(ignored) ? entry.file_size(ignored) : 0;
    taken += ignored ? 0 : size;
  }
  return (space.available + taken) / 2;
}

}  // namespace kvcast
