#include "kvcast/host/tap_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "kvcast/base/hex.h"

namespace kvcast::tap {
namespace {

constexpr size_t kTextBytesMax = 2000;

// Text in a line of its own meaning: no line ends, and no # that would begin a directive.
std::string OneLine(std::string_view text) {
  std::string line = Printable(text, kTextBytesMax);
  std::ranges::replace(line, '#', ' ');
  return line;
}

// Words and numbers stand for themselves in YAML; anything else is quoted.
std::string YamlValue(std::string_view value) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!value.empty() && value.front() != '-' && std::ranges::all_of(value, plain)) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : Printable(value, kTextBytesMax)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string Head(const std::vector<std::string>& about, size_t tests) {
  std::string text = "TAP version 14\n";
  for (const std::string& line : about) {
    text += "# " + Printable(line, kTextBytesMax) + "\n";
  }
  return text + fmt::format("1..{}\n", tests);
}

std::string Point(size_t number, bool passed, std::string_view name,
                  const std::vector<std::pair<std::string, std::string>>& notes) {
  std::string text = fmt::format("{}ok {} - {}\n", passed ? "" : "not ", number, OneLine(name));
  if (notes.empty()) {
    return text;
  }
  text += "  ---\n";
  for (const auto& [key, value] : notes) {
    text += fmt::format("  {}: {}\n", key, YamlValue(value));
  }
  return text + "  ...\n";
}

std::string Skipped(size_t number, std::string_view name, std::string_view why) {
  return fmt::format("ok {} - {} # SKIP {}\n", number, OneLine(name), OneLine(why));
}

}  // namespace kvcast::tap
