#include "kvcast/base/log.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr size_t kValueBytesMax = 256;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:@+%,").find(c) != std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  if (!text.empty() && text.size() <= kValueBytesMax &&
      std::ranges::all_of(text, IsNameCharacter)) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : Printable(text, kValueBytesMax)) {
    quoted += c == '"' ? "\\x22" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

LogField::LogField(std::string_view key, double value) : key_(key) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  text_.assign(text.data(), end.ptr);
}

std::string LogRecord::ToString() const {
  std::string line = "level=" + std::string(kvcast::ToString(level)) + " module=" + Quoted(module) +
                     " event=" + Quoted(event);
  for (const LogField& field : fields) {
    line += " " + field.key() + "=" + Quoted(field.text());
  }
  return line;
}

void Log::Write(LogLevel level, std::string_view event,
                std::initializer_list<LogField> fields) const {
  if (sink_ != nullptr && level >= sink_->least()) {
    sink_->Write({level, module_, std::string(event), fields});
  }
}

}  // namespace kvcast
