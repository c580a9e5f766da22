#include "kvcast/moqt/auth_rules.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace kvcast::moqt {
namespace {

// Sorted, not each compared with each: a message has room for thousands.
bool HasOneTwice(std::vector<const AuthToken*> tokens) {
  std::ranges::sort(tokens, [](const AuthToken* a, const AuthToken* b) {
    return std::tie(a->type, a->value) < std::tie(b->type, b->value);
  });
  return std::ranges::adjacent_find(tokens, [](const AuthToken* a, const AuthToken* b) {
           return *a == *b;
         }) != tokens.end();
}

}  // namespace

Parameters WithoutTokens(const Parameters& parameters) {
  Parameters rest = parameters;
  std::vector<AuthToken>().swap(rest.auth_tokens);  // Not even room for them stays.
  return rest;
}

size_t TokenBytes(const Parameters& parameters) {
  size_t bytes = 0;
  for (const AuthToken& token : parameters.auth_tokens) {
    bytes += sizeof(AuthToken) + token.value.size();
  }
  return bytes;
}

Decoded<void> CheckTokens(const Parameters& parameters) {
  using Type = AuthToken::AliasType;
  std::vector<const AuthToken*> values;
  auto other = parameters.auth_tokens.begin();
  for (; other != parameters.auth_tokens.end() && other->alias_type == Type::kUseValue; ++other) {
    values.push_back(&*other);
  }
  if (HasOneTwice(std::move(values))) {
    return Fault::Violation("A message carries one token twice.");
  }
  if (other == parameters.auth_tokens.end()) {
    return {};
  }
  return other->alias_type == Type::kRegister
             ? Fault::Session(SessionCode::kAuthTokenCacheOverflow, "We keep no tokens.")
             : Fault::Session(SessionCode::kUnknownAuthTokenAlias, "No token has this alias.");
}

}  // namespace kvcast::moqt
