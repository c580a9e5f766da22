#include "kvcast/moqt/auth_rules.h"

#include <algorithm>

namespace kvcast::moqt {

Decoded<void> CheckTokens(const Parameters& parameters) {
  const std::vector<AuthToken>& tokens = parameters.auth_tokens;
  for (auto token = tokens.begin(); token != tokens.end(); ++token) {
    if (token->alias_type == AuthToken::AliasType::kRegister) {
      return Fault::Session(SessionCode::kAuthTokenCacheOverflow, "We keep no tokens.");
    }
    if (token->alias_type != AuthToken::AliasType::kUseValue) {
      return Fault::Session(SessionCode::kUnknownAuthTokenAlias, "No token has this alias.");
    }
    if (std::find(tokens.begin(), token, *token) != token) {
      return Fault::Violation("A message carries one token twice.");
    }
  }
  return {};
}

}  // namespace kvcast::moqt
