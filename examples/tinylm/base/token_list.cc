#include "examples/tinylm/base/token_list.h"

#include <charconv>
#include <string>

namespace kvcast::tinylm {

Result<std::vector<Token>> ParseTokenList(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<Token> tokens;
  size_t at = 0;
  while ((at = text.find_first_not_of(kBetween, at)) != std::string_view::npos) {
    const std::string_view word = text.substr(at, text.find_first_of(kBetween, at) - at);
    Token token = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (problem != std::errc() || end != word.data() + word.size()) {
      // What stands there may be a piece of somebody's prompt, and errors end up in logs.
      return Error(ErrorCode::kMalformed, "No token id begins here: a whole number below 2^32.")
          .At(at);
    }
    tokens.push_back(token);
    at += word.size();
  }
  return tokens;
}

}  // namespace kvcast::tinylm
