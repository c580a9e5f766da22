#include "kvcast/kv/tenant.h"

#include <algorithm>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr size_t kTenantBytesMax = 64;

bool IsTenantCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

}  // namespace

Result<Tenant> Tenant::Of(std::string_view name) {
  if (name.empty() || name.size() > kTenantBytesMax ||
      !std::ranges::all_of(name, IsTenantCharacter)) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(name) + "\" is not a tenant: 1 to 64 of a-z, 0-9 and - are.");
  }
  return Tenant(std::string(name));
}

Result<NamingKey> NamingKey::Of(std::span<const std::byte> bytes) {
  if (bytes.size() != Digest::kBytes) {
    return Error(ErrorCode::kInvalid,
                 "A naming key has 32 bytes; this one has " + std::to_string(bytes.size()) + ".");
  }
  Digest key;
  std::ranges::copy(bytes, key.bytes.begin());
  return NamingKey(key);
}

NamingKey NamingKey::Public() { return NamingKey(Sha256::Of("kvcast/public/1")); }

}  // namespace kvcast
