#include "kvcast/host/peer_identity.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr std::string_view kSpiffe = "spiffe://";
constexpr std::string_view kTenantPart = "/tenant/";
constexpr std::string_view kRolePart = "/role/";

bool IsDomain(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

// "CN=engine-3" is what GnuTLS makes of a name that is only that; people write the name.
std::string_view CommonName(std::string_view subject) {
  return subject.starts_with("CN=") && subject.find(',') == std::string_view::npos
             ? subject.substr(3)
             : subject;
}

// One grant for all tenants of a role: what is above them is for those who have them all.
void Join(relay::Grant grant, std::vector<relay::Grant>& to) {
  const auto same = std::ranges::find(to, grant.may, &relay::Grant::may);
  if (same == to.end()) {
    to.push_back(std::move(grant));
  } else {
    same->tenants.merge(grant.tenants);
  }
}

}  // namespace

Result<std::string> HolderUri(std::string_view domain, std::string_view tenant,
                              std::string_view role) {
  if (!IsDomain(domain)) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(domain) + "\" is no trust domain: a-z, 0-9, -, _ and . are.");
  }
  KVCAST_TRY_VOID(relay::Grant::PermissionsOf(role));
  const std::array<std::string, 1> tenants{std::string(tenant)};
  const std::array<std::string, 1> may{std::string(role)};
  KVCAST_TRY_VOID(relay::Grant::Of(tenants, may));
  std::string uri(kSpiffe);
  uri.append(domain).append(kTenantPart).append(tenant).append(kRolePart).append(role);
  return uri;
}

Result<relay::Grant> GrantOfUri(std::string_view uri) {
  const Error other(ErrorCode::kInvalid,
                    "\"" + Printable(uri) + "\" is not spiffe://DOMAIN/tenant/TENANT/role/ROLE.");
  if (!uri.starts_with(kSpiffe)) {
    return other;
  }
  const std::string_view rest = uri.substr(kSpiffe.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !IsDomain(rest.substr(0, slash)) ||
      !rest.substr(slash).starts_with(kTenantPart)) {
    return other;
  }
  const std::string_view path = rest.substr(slash + kTenantPart.size());
  const size_t role = path.find(kRolePart);
  if (role == std::string_view::npos) {
    return other;
  }
  const std::array<std::string, 1> tenants{std::string(path.substr(0, role))};
  const std::string_view role_name = path.substr(role + kRolePart.size());
  const std::array<std::string, 1> may{std::string(role_name)};
  KVCAST_TRY_VOID(relay::Grant::PermissionsOf(role_name));
  return relay::Grant::Of(tenants, may);
}

relay::Credential CredentialOf(const CertificateFacts& facts, const CertificateGrants& grants) {
  const std::string_view subject = CommonName(facts.subject);
  // Two authorities may use a subject twice; a certificate is one of a kind.
  relay::Credential credential{
      Printable(subject, 64) + " " + facts.fingerprint.ToHex().substr(0, 16), std::nullopt};
  const auto by_fingerprint = grants.by_fingerprint.find(facts.fingerprint);
  if (by_fingerprint != grants.by_fingerprint.end()) {
    credential.grants = {by_fingerprint->second.grant};
    return credential;
  }
  if (const auto named = grants.by_subject.find(std::string(subject));
      named != grants.by_subject.end()) {
    credential.grants = {named->second.grant};
    return credential;
  }
  for (const std::string& uri : facts.uris) {
    if (!uri.starts_with(kSpiffe) || uri.find(kTenantPart) == std::string::npos) {
      continue;  // Somebody else's.
    }
    if (!credential.grants) {
      credential.grants.emplace();
    }
    if (Result<relay::Grant> grant = GrantOfUri(uri); grant.ok()) {
      Join(*std::move(grant), *credential.grants);
    }
  }
  return credential;
}

}  // namespace kvcast
