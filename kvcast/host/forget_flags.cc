#include "kvcast/host/forget_flags.h"

#include "kvcast/catalog/forget_list.h"
#include "kvcast/kv/tenant.h"

namespace kvcast {

void ForgetFlags::AddTo(CLI::App& command) {
  command.add_option("--tenant", tenant, "Whose caches")->type_name("NAME")->required();
  command
      .add_option("--model", model,
                  "Only those of this model, as its name is written, with or without its "
                  "fingerprint (NAME or NAME@FINGERPRINT)")
      ->type_name("NAME");
  command.add_option("--prefix", prefix, "Only those of this prefix: 64 hex digits")
      ->type_name("HEX");
}

Result<relay::ForgetScope> ForgetFlags::Scope() const {
  KVCAST_TRY(const Tenant known, Tenant::Of(tenant));
  relay::ForgetScope scope{known.name(), std::nullopt, std::nullopt};
  if (model.size() > ForgetList::kModelBytesMax) {
    return Error(ErrorCode::kInvalid, "A model's name has at most 512 bytes.");
  }
  if (!model.empty()) {
    scope.model = model;
  }
  if (!prefix.empty()) {
    const Result<Digest> digest = Digest::FromHex(prefix);
    if (!digest.ok()) {
      return Error(digest.error()).In("--prefix");
    }
    scope.prefix = *digest;
  }
  return scope;
}

}  // namespace kvcast
