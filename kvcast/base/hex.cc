#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

int HexDigitValue(char digit) {
  if (digit >= '0' && digit <= '9') {
    return digit - '0';
  }
  if (digit >= 'a' && digit <= 'f') {
    return digit - 'a' + 10;
  }
  if (digit >= 'A' && digit <= 'F') {
    return digit - 'A' + 10;
  }
  return -1;
}

std::string ToHex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte) >> 4];
    text += kDigits[std::to_integer<size_t>(byte) & 15];
  }
  return text;
}

Result<std::vector<std::byte>> FromHex(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigitValue(text[i]);
    const int low = i + 1 < text.size() ? HexDigitValue(text[i + 1]) : -1;
    if (high < 0 || low < 0) {
      return Error(ErrorCode::kMalformed, "Two hex digits were expected.").At(i);
    }
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::string Printable(std::string_view text, size_t bytes_max) {
  std::string printable;
  for (const char c : text.substr(0, bytes_max)) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      printable += c;
    } else {
      const std::byte byte[] = {static_cast<std::byte>(c)};
      printable += "\\x" + ToHex(byte);
    }
  }
  return text.size() > bytes_max ? printable + "..." : printable;
}

std::string Harmless(std::string_view text) {
  std::string harmless;
  while (!text.empty()) {
    const char c = text[0];
    // Unicode has a second set of controls, U+0080 to U+009F: two bytes in UTF-8, and some
    // terminals obey them.
    const bool is_second_set = c == '\xc2' && text.size() > 1 && (text[1] & 0xe0) == 0x80;
    const bool is_control = (c >= 0 && c < ' ') || c == '\x7f' || is_second_set;
    const std::string_view piece = text.substr(0, is_second_set ? 2 : 1);
    harmless += is_control ? Printable(piece) : std::string(piece);
    text.remove_prefix(piece.size());
  }
  return harmless;
}

}  // namespace kvcast
