#include "kvcast/host/tenant_flags.h"

#include <string_view>

#include "kvcast/io/file.h"
#include "kvcast/kv/tenant.h"

namespace kvcast {
namespace {

constexpr size_t kKeyFileBytesMax = 4096;

// The 32 bytes of a key, or its 64 hex digits with or without a line end. 32 bytes that all are hex
// digits are half of such a key: nobody draws them at random.
Result<NamingKey> KeyIn(const std::string& file) {
  KVCAST_TRY(const std::string content, ReadFile(file, kKeyFileBytesMax));
  Result<NamingKey> key = NamingKey::Of(AsBytes(content));
  if (key.ok() && content.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    return key;
  }
  const std::string_view digits =
      std::string_view(content).substr(0, content.find_last_not_of(" \r\n") + 1);
  const Result<Digest> hex = Digest::FromHex(digits);
  if (!hex.ok()) {
    return Error(ErrorCode::kMalformed, "A naming key is 32 bytes, or 64 hex digits.").In(file);
  }
  return NamingKey::Of(hex->bytes);
}

Result<NamingKey> KeyOf(const TenantFlags& flags) {
  KVCAST_TRY(const Tenant tenant, Tenant::Of(flags.tenant));
  if (tenant.IsPublic() && flags.key_file.empty()) {
    return NamingKey::Public();
  }
  if (tenant.IsPublic()) {
    return Error(ErrorCode::kInvalid,
                 "The public tenant's key is known to all; --key-file goes with --tenant.");
  }
  if (flags.key_file.empty()) {
    return Error(ErrorCode::kInvalid, "Tenant " + tenant.name() +
                                          " has a naming key of its own: say where with "
                                          "--key-file.");
  }
  return KeyIn(flags.key_file);
}

}  // namespace

void TenantFlags::AddTo(CLI::App& command, TenantFlags& flags) {
  command.add_option("--tenant", flags.tenant, "Whose names these are")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--key-file", flags.key_file, "The tenant's naming key, 32 bytes or in hex")
      ->type_name("FILE");
  command.add_option("--salt", flags.salt, "Keeps these names apart from all others")
      ->type_name("TEXT");
}

Result<ModelScope> TenantFlags::ScopeOf(const ModelFolder& model) const {
  KVCAST_TRY(Tenant owner, Tenant::Of(tenant));
  return ModelScope::Of(std::move(owner), model.name, model.description.Fingerprint());
}

Result<BlockNamer> TenantFlags::NamerFor(const ModelFolder& model) const {
  KVCAST_TRY(const NamingKey key, KeyOf(*this));
  return BlockNamer::Of(key, model.description.Fingerprint(), salt);
}

}  // namespace kvcast
