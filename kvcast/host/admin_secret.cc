#include "kvcast/host/admin_secret.h"

#include <array>
#include <system_error>

#include "kvcast/base/hex.h"
#include "kvcast/host/token_file.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"

namespace kvcast {

Result<std::string> DrawAdminSecret() {
  std::array<std::byte, 32> random{};
  FillRandom(random);
  return "kvcast_admin_" + ToHex(random);
}

Result<void> WriteAdminSecret(const std::filesystem::path& state, const std::string& token,
                              const std::string& address) {
  if (address.empty()) {
    std::error_code ignored;
    std::filesystem::remove(state / AdminSecret::kTokenFile, ignored);
    std::filesystem::remove(state / AdminSecret::kAddressFile, ignored);
    return {};
  }
  KVCAST_TRY_VOID(
      WriteFileAtomically(state / AdminSecret::kTokenFile, AsBytes(token + "\n"), 0600));
  return WriteFileAtomically(state / AdminSecret::kAddressFile, AsBytes(address + "\n"), 0600);
}

Result<AdminSecret> AdminSecret::Read(const std::filesystem::path& state) {
  AdminSecret secret;
  KVCAST_TRY(secret.token, ReadToken(state / kTokenFile));
  KVCAST_TRY(secret.address, ReadFile(state / kAddressFile, 300));
  secret.address.erase(secret.address.find_last_not_of("\r\n ") + 1);
  return secret;
}

}  // namespace kvcast
