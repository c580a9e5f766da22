#include "kvcast/kv/token_list.h"

#include <array>
#include <charconv>
#include <string>

namespace kvcast {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// Leaves `at` on the next character that is not one of `skipped`, or at the end.
void Skip(std::string_view text, std::string_view skipped, size_t& at) {
  at = std::min(text.find_first_not_of(skipped, at), text.size());
}

}  // namespace

Result<std::vector<Token>> ParseTokenList(std::string_view text) {
  std::vector<Token> tokens;
  size_t at = 0;
  Skip(text, kSpaces, at);
  const bool bracketed = at < text.size() && text[at] == '[';
  at += bracketed ? 1 : 0;
  Skip(text, kSpaces, at);
  while (at < text.size() && text[at] != ']') {
    Token token = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + at, end, token);
    const bool separated = parsed.ptr == end ||
                           kSpaces.find(*parsed.ptr) != std::string_view::npos ||
                           *parsed.ptr == ',' || *parsed.ptr == ']';
    if (parsed.ec != std::errc() || !separated) {
      // What stands there may be a piece of somebody's prompt, and errors end up in logs.
      return Error(ErrorCode::kMalformed,
                   "No token id begins here: a whole number below 2^32, with a space or comma "
                   "after it.")
          .At(at);
    }
    tokens.push_back(token);
    at = static_cast<size_t>(parsed.ptr - text.data());
    Skip(text, kSpaces, at);
    if (at < text.size() && text[at] == ',') {  // Just one: between two a token is missing.
      ++at;
      Skip(text, kSpaces, at);
    }
  }
  const bool closed = at < text.size();
  at += closed ? 1 : 0;
  Skip(text, kSpaces, at);
  if (closed != bracketed || at != text.size()) {
    return Error(ErrorCode::kMalformed, "The list's brackets do not match.").At(at);
  }
  return tokens;
}

std::string TextOf(std::span<const Token> tokens) {
  std::string text;
  for (const Token token : tokens) {
    text += (text.empty() ? "" : " ") + std::to_string(token);
  }
  return text;
}

Digest DigestOfTokens(std::span<const Token> tokens) {
  Sha256 digest;
  for (const Token token : tokens) {
    const std::array<std::byte, 4> id = {
        static_cast<std::byte>(token), static_cast<std::byte>(token >> 8),
        static_cast<std::byte>(token >> 16), static_cast<std::byte>(token >> 24)};
    digest.Update(id);
  }
  return digest.Finish();
}

}  // namespace kvcast
