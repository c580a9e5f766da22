#include "kvcast/host/tenant_flags.h"

#include <algorithm>
#include <string_view>

#include "kvcast/io/file.h"
#include "kvcast/kv/tenant.h"

namespace kvcast {
namespace {

constexpr size_t kKeyFileBytesMax = 4096;
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

// The 32 bytes of a key, or its 64 hex digits with or without a line end. 32 bytes that all are hex
// digits are half of such a key: nobody draws them at random.
Result<NamingKey> KeyIn(const std::string& file) {
  KVCAST_TRY(const std::string content, ReadFile(file, kKeyFileBytesMax));
  Result<NamingKey> key = NamingKey::Of(AsBytes(content));
  if (key.ok() && content.find_first_not_of(kHexDigits) != std::string::npos) {
    return key;
  }
  const std::string_view digits =
      std::string_view(content).substr(0, content.find_last_not_of(" \r\n") + 1);
  const Result<Digest> hex = Digest::FromHex(digits);
  if (!hex.ok()) {
    const size_t other = digits.find_first_not_of(kHexDigits);
    return Error(ErrorCode::kMalformed,
                 "A naming key is 32 bytes, or 64 hex digits; this file has " +
                     std::to_string(content.size()) + " bytes" +
                     (other == std::string_view::npos ? ", all of them hex digits."
                                                      : ", and what is here is no hex digit."))
        .At(std::min(other, digits.size()))
        .In(file);
  }
  return NamingKey::Of(hex->bytes);
}

// Whether a tenant and its key go together.
void CheckPair(const TenantFlags& flags) {
  const bool is_public = flags.tenant == Tenant::Public().name();
  if (is_public && !flags.key_file.empty()) {
    throw CLI::ValidationError(
        "--key-file",
        "The public tenant's key is known to all: a key of one's own goes with "
        "another --tenant.");
  }
  if (!is_public && flags.key_file.empty()) {
    throw CLI::ValidationError("--tenant", "Tenant " + flags.tenant +
                                               " has a naming key of its own: say where with "
                                               "--key-file.");
  }
}

}  // namespace

void TenantFlags::AddTo(CLI::App& command, TenantFlags& flags) {
  command.add_option("--tenant", flags.tenant, "Whose names these are")
      ->type_name("NAME")
      ->check([](const std::string& name) {
        const Result<Tenant> owner = Tenant::Of(name);
        return owner.ok() ? "" : owner.error().message();
      })
      ->capture_default_str();
  command.add_option("--key-file", flags.key_file, "The tenant's naming key, 32 bytes or in hex")
      ->type_name("FILE");
  command.add_option("--salt", flags.salt, "Keeps these names apart from all others")
      ->type_name("TEXT")
      ->check([](const std::string& text) {
        return text.size() <= kSaltBytesMax ? ""
                                            : "A salt has at most 1,024 bytes; this one has " +
                                                  std::to_string(text.size()) + ".";
      });
  command.parse_complete_callback([&flags] { CheckPair(flags); });
}

Result<NamingKey> TenantFlags::Key() const {
  if (key_file.empty()) {
    return NamingKey::Public();
  }
  KVCAST_TRY(const NamingKey key, KeyIn(key_file));
  if (std::ranges::equal(key.bytes(), NamingKey::Public().bytes())) {
    return Error(ErrorCode::kInvalid,
                 "This is the public tenant's key, which is known to all: tenant " + tenant +
                     " needs 32 random bytes of its own.")
        .In(key_file);
  }
  return key;
}

Result<ModelScope> TenantFlags::ScopeOf(const ModelFolder& model) const {
  KVCAST_TRY(Tenant owner, Tenant::Of(tenant));
  return ModelScope::Of(std::move(owner), model.name, model.description.Fingerprint());
}

Result<BlockNamer> TenantFlags::NamerFor(const ModelFolder& model, const NamingKey& key) const {
  return BlockNamer::Of(key, model.description.Fingerprint(), salt);
}

}  // namespace kvcast
