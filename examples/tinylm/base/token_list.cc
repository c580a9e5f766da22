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
      constexpr size_t kShown = 16;
      return Error(ErrorCode::kMalformed, "\"" + std::string(word.substr(0, kShown)) +
                                              "\" does not begin with a token id.")
          .At(at);
    }
    tokens.push_back(token);
    at += word.size();
  }
  return tokens;
}

}  // namespace kvcast::tinylm
