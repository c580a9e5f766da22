#include "kvcast/host/text_layout.h"

#include <algorithm>

#include "kvcast/base/hex.h"

namespace kvcast {

std::string Wrapped(std::string_view text, size_t indent, size_t columns) {
  std::string wrapped;
  size_t used = indent;
  const auto break_line = [&] {
    wrapped += "\n" + std::string(indent, ' ');
    used = indent;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (used > indent && used + 1 + word.size() > columns) {
      break_line();
    } else if (used > indent && !word.empty()) {
      wrapped += ' ';
      used += 1;
    }
    wrapped += word;
    used += word.size();
    if (end < text.size() && text[end] == '\n') {
      break_line();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

std::string HarmlessLines(std::string_view text) {
  std::string harmless;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    harmless += Harmless(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return harmless + Harmless(text);
}

std::string Padded(std::string_view text, size_t columns) {
  std::string padded(text);
  padded.resize(std::max(columns, text.size()), ' ');
  return padded;
}

}  // namespace kvcast
