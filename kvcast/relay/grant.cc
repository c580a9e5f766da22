#include "kvcast/relay/grant.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/catalog/acknowledgement.h"

namespace kvcast::relay {
namespace {

constexpr size_t kTenantNameMax = 64;

constexpr std::array<std::pair<std::string_view, uint8_t>, 4> kPermissionWords{{
    {"publish", Grant::kPublish},
    {"read", Grant::kRead},
    {"relay", Grant::kPublish | Grant::kRead | Grant::kRelay},
    {"forget", Grant::kForget},
}};
constexpr std::array<std::pair<std::string_view, uint8_t>, 5> kRoleWords{{
    {"publisher", Grant::kPublish},
    {"subscriber", Grant::kRead},
    {"engine", Grant::kPublish | Grant::kRead},
    {"relay", Grant::kPublish | Grant::kRead | Grant::kRelay},
    {"admin", Grant::kEverything},
}};

bool IsTenantName(std::string_view name) {
  return !name.empty() && name.size() <= kTenantNameMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

template <typename Words>
std::optional<uint8_t> Meaning(const Words& words, std::string_view word) {
  const auto found = std::ranges::find(words, word, [](const auto& each) { return each.first; });
  return found == words.end() ? std::nullopt : std::optional(found->second);
}

bool IsOfCatalogs(const TrackNamespace& space) {
  return space.field_count() >= 3 && space.field(0) == kServiceField && space.field(2) == "catalog";
}

}  // namespace

bool IsAboveTenants(const TrackNamespace& space) {
  return space.field_count() == 0 || (space.field_count() == 1 && space.field(0) == kServiceField);
}

std::string_view TenantOf(const TrackNamespace& space) {
  if (space.field_count() < 2 || space.field(0) != kServiceField) {
    return {};
  }
  const std::string_view field = space.field(1);
  return field.substr(0, field.find('/'));
}

Grant Grant::Everything() {
  return {{std::string(kAllTenants), std::string(kPlainNames)}, kEverything, std::nullopt};
}

Result<uint8_t> Grant::PermissionsOf(std::string_view role) {
  if (const std::optional<uint8_t> found = Meaning(kRoleWords, role)) {
    return *found;
  }
  return Error(ErrorCode::kInvalid,
               "\"" + Printable(role) +
                   "\" is no role: publisher, subscriber, engine, relay and admin are.");
}

Result<Grant> Grant::Of(std::span<const std::string> tenants, std::span<const std::string> may) {
  Grant grant;
  for (const std::string& tenant : tenants) {
    if (!IsTenantName(tenant) && tenant != kAllTenants && tenant != kPlainNames) {
      return Error(ErrorCode::kInvalid,
                   "\"" + Printable(tenant) +
                       "\" is not a tenant: 1 to 64 of a-z, 0-9 and - are, _all for every tenant, "
                       "and _plain for names that are no tenant's.");
    }
    grant.tenants.insert(tenant);
  }
  for (const std::string& word : may) {
    std::optional<uint8_t> meant = Meaning(kPermissionWords, word);
    meant = meant ? meant : Meaning(kRoleWords, word);
    if (!meant) {
      return Error(ErrorCode::kInvalid, "\"" + Printable(word) +
                                            "\" is nothing that can be allowed: publish, read, "
                                            "relay and forget are.");
    }
    grant.may |= *meant;
  }
  if (grant.tenants.empty() || grant.may == 0) {
    return Error(ErrorCode::kInvalid, "A grant names at least one tenant and one thing to do.");
  }
  return grant;
}

// The special words are no tenants, whatever a name says.
bool Grant::Covers(const TrackNamespace& space) const {
  if (space.field_count() == 0) {
    return Has(kAllTenants) && Has(kPlainNames);
  }
  if (space.field(0) != kServiceField) {
    return Has(kPlainNames);
  }
  if (Has(kAllTenants)) {
    return true;
  }
  const std::string_view tenant = TenantOf(space);
  return IsTenantName(tenant) && Has(tenant);
}

bool Grant::Allows(Act act, const TrackNamespace& space, std::string_view name,
                   uint64_t now_us) const {
  if (is_void(now_us) || !Covers(space)) {
    return false;
  }
  const bool publishes = (may & kPublish) != 0;
  const bool reads = (may & kRead) != 0;
  switch (act) {
    case Act::kPublish:
      return publishes && ((may & kRelay) != 0 || !IsOfCatalogs(space));
    case Act::kAnnounce:
      return publishes && ((may & kRelay) != 0 || !IsOfCatalogs(space));
    case Act::kRead:
      // Whoever publishes has to know what is there already, and what has become durable.
      return reads || (publishes && (IsOfCatalogs(space) || name == kAckTrackName));
    case Act::kList:
      return reads || (publishes && IsOfCatalogs(space));
    case Act::kForget:
      return (may & kForget) != 0;
  }
  return false;
}

Grant Grant::Within(const Grant& bound) const {
  Grant left;
  const auto take = [&](const Grant& from, const Grant& other) {
    const bool all = other.Has(kAllTenants);
    for (const std::string& tenant : from.tenants) {
      if (other.Has(tenant) || (all && tenant != kPlainNames)) {
        left.tenants.insert(tenant);
      }
    }
  };
  take(*this, bound);
  take(bound, *this);
  left.may = may & bound.may;
  left.until_us = until_us && bound.until_us ? std::min(*until_us, *bound.until_us)
                  : until_us                 ? until_us
                                             : bound.until_us;
  return left;
}

}  // namespace kvcast::relay
