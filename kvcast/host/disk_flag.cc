#include "kvcast/host/disk_flag.h"

#include <system_error>

#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

Error BadDisk(const std::string& what) {
  return Error(ErrorCode::kInvalid,
               what + ". It is DIR[,bytes=SIZE][,class=ssd|hdd][,admit=all|second]");
}

}  // namespace

Result<DiskFlag> DiskFlag::Parse(std::string_view text) {
  DiskFlag flag;
  size_t comma = text.find(',');
  flag.directory = std::string(text.substr(0, comma));
  if (flag.directory.empty()) {
    return BadDisk("There is no directory in '" + std::string(text) + "'");
  }
  while (comma != std::string_view::npos) {
    text = text.substr(comma + 1);
    comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
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
