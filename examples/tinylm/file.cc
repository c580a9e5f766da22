#include "examples/tinylm/file.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

namespace kvcast::tinylm {
namespace {

constexpr size_t kStepBytes = 64 * 1024;

Error MachineError(int number) {
  const auto code = number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kMachine;
  return {code, std::generic_category().message(number) + "."};
}

}  // namespace

Result<std::string> ReadAll(std::istream& in, size_t bytes_max) {
  std::string text;
  while (in.good()) {
    const size_t before = text.size();
    text.resize(before + kStepBytes);
    errno = 0;
    in.read(text.data() + before, static_cast<std::streamsize>(kStepBytes));
    text.resize(before + static_cast<size_t>(in.gcount()));
    if (in.bad()) {
      return MachineError(errno != 0 ? errno : EIO);
    }
    if (text.size() > bytes_max) {
      return Error(ErrorCode::kTooLarge,
                   "At most " + std::to_string(bytes_max) + " bytes are read.");
    }
  }
  return text;
}

Result<std::string> ReadFile(const std::string& path, size_t bytes_max) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return MachineError(errno != 0 ? errno : EIO).In(path);
  }
  auto text = ReadAll(in, bytes_max);
  if (!text.ok()) {
    return std::move(text).error().In(path);
  }
  return text;
}

}  // namespace kvcast::tinylm
