#include "kvcast/relay/access.h"

#include <algorithm>

namespace kvcast::relay {
namespace {

constexpr const char* kHowToBeKnown =
    "This node takes only those it knows: show a certificate that names a tenant, or send a token "
    "(--token-file).";
constexpr const char* kBadToken = "This node does not know the token that was sent.";
constexpr const char* kOldToken = "The token that was sent has expired.";

constexpr std::string_view kNobody = "moq://kvcache.moq.arpa/nobody/";

// What of a token counts beside a certificate.
void AddGrants(const Credential& credential, const Grant& token, std::vector<Grant>& to) {
  if (!credential.grants) {
    to.push_back(token);
    return;
  }
  for (const Grant& bound : *credential.grants) {
    Grant left = token.Within(bound);
    if (!left.tenants.empty() && left.may != 0) {
      to.push_back(std::move(left));
    }
  }
}

bool IsAnyAllowed(std::span<const Grant> grants, Act act, const TrackNamespace& space,
                  std::string_view name, uint64_t now_us) {
  return std::ranges::any_of(
      grants, [&](const Grant& grant) { return grant.Allows(act, space, name, now_us); });
}

}  // namespace

bool Identity::is_relay() const {
  return std::ranges::any_of(grants,
                             [](const Grant& grant) { return (grant.may & Grant::kRelay) != 0; });
}

std::optional<uint64_t> Identity::until_us() const {
  std::optional<uint64_t> last = 0;
  for (const Grant& grant : grants) {
    last = last && grant.until_us ? std::optional(std::max(*last, *grant.until_us)) : std::nullopt;
  }
  return grants.empty() ? std::nullopt : last;
}

TrackNamespace Access::Hidden() { return *TrackNamespace::Of({kNobody}); }

bool Access::IsHidden(const TrackNamespace& space) {
  return space.field_count() > 0 && space.field(0) == kNobody;
}

Access::Welcome Access::Greet(const Credential& credential, std::span<const moqt::AuthToken> tokens,
                              std::string unnamed, uint64_t now_us) const {
  Identity identity;
  if (!options_.required) {
    identity.name = std::move(unnamed);
    identity.grants = {Grant::Everything()};
    return {std::move(identity), std::nullopt};
  }
  for (const moqt::AuthToken& token : tokens.first(std::min(tokens.size(), kTokensMax))) {
    Digest digest;
    if (options_.tokens.Find(token.value, &digest) == nullptr) {
      return {{}, Refusal{moqt::SessionCode::kUnauthorized, kBadToken}};
    }
    identity.tokens.push_back(digest);
  }
  return GreetAgain(credential, identity, now_us);
}

Access::Welcome Access::GreetAgain(const Credential& credential, const Identity& known,
                                   uint64_t now_us) const {
  if (!options_.required) {
    return {known, std::nullopt};
  }
  Identity identity;
  identity.tokens = known.tokens;
  bool expired = false;
  for (const Digest& digest : known.tokens) {
    const TokenTable::Entry* const entry = options_.tokens.Find(digest);
    if (entry == nullptr) {
      return {{}, Refusal{moqt::SessionCode::kUnauthorized, kBadToken}};
    }
    expired = expired || entry->grant.is_void(now_us);
    if (!entry->grant.is_void(now_us)) {
      identity.name = identity.name.empty() ? "token " + entry->name : identity.name;
      AddGrants(credential, entry->grant, identity.grants);
    }
  }
  if (known.tokens.empty() && credential.grants) {
    identity.grants = *credential.grants;
  }
  if (!credential.name.empty()) {
    identity.name = "certificate " + credential.name;
  }
  if (!identity.grants.empty()) {
    return {std::move(identity), std::nullopt};
  }
  // Somebody whom an authority knows may say with each request what it is allowed.
  if (!expired && known.tokens.empty() && !credential.name.empty() && !options_.tokens.empty()) {
    return {std::move(identity), std::nullopt};
  }
  return {{},
          expired ? Refusal{moqt::SessionCode::kExpiredAuthToken, kOldToken}
                  : Refusal{moqt::SessionCode::kUnauthorized, kHowToBeKnown}};
}

Access::Decision Access::Decide(const Credential& credential, const Identity& identity, Act act,
                                const TrackNamespace& space, std::string_view name,
                                std::span<const moqt::AuthToken> tokens, uint64_t now_us) const {
  if (IsHidden(space)) {
    return {};
  }
  if (IsAnyAllowed(identity.grants, act, space, name, now_us)) {
    return {true, std::nullopt};
  }
  for (const moqt::AuthToken& token : tokens.first(std::min(tokens.size(), kTokensMax))) {
    const TokenTable::Entry* const entry = options_.tokens.Find(token.value);
    std::vector<Grant> grants;
    if (entry != nullptr) {
      AddGrants(credential, entry->grant, grants);
    }
    for (const Grant& grant : grants) {
      if (grant.Allows(act, space, name, now_us)) {
        return {true, grant.until_us};
      }
    }
  }
  return {};
}

}  // namespace kvcast::relay
