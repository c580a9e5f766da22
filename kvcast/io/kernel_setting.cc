#include "kvcast/io/kernel_setting.h"

#include <charconv>

#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kSettingBytesMax = 4 * 1024 * 1024;  // /proc/cpuinfo of a large machine.

}  // namespace

std::optional<std::string> KernelSetting(const std::filesystem::path& path) {
  auto text = ReadFile(path, kSettingBytesMax);
  if (!text.ok()) {
    return std::nullopt;
  }
  while (!text->empty() && text->back() == '\n') {
    text->pop_back();
  }
  return *std::move(text);
}

std::optional<uint64_t> KernelNumber(const std::filesystem::path& path) {
  const auto text = KernelSetting(path);
  uint64_t number = 0;
  if (!text || text->empty()) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace kvcast
