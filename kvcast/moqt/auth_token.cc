#include "kvcast/moqt/auth_token.h"

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"

namespace kvcast::moqt {
namespace {

using AliasType = AuthToken::AliasType;

bool HasAlias(AliasType type) { return type != AliasType::kUseValue; }
bool HasValue(AliasType type) {
  return type == AliasType::kRegister || type == AliasType::kUseValue;
}

Result<AuthToken> Read(std::string_view encoded) {
  ByteReader reader(AsBytes(encoded));
  AuthToken token;
  KVCAST_TRY(const uint64_t alias_type, reader.Vi64());
  if (alias_type > static_cast<uint64_t>(AliasType::kUseValue)) {
    return reader.Malformed("A token's alias type is 0 to 3.");
  }
  token.alias_type = static_cast<AliasType>(alias_type);
  if (HasAlias(token.alias_type)) {
    KVCAST_TRY(token.alias, reader.Vi64());
  }
  if (HasValue(token.alias_type)) {
    KVCAST_TRY(token.type, reader.Vi64());
    KVCAST_TRY(token.value, reader.Text(reader.remaining()));
  }
  if (!reader.done()) {
    return reader.Malformed("More bytes follow a token's alias.");
  }
  return token;
}

}  // namespace

std::string AuthToken::Encode() const {
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(alias_type));
  if (HasAlias(alias_type)) {
    writer.Vi64(alias);
  }
  if (HasValue(alias_type)) {
    writer.Vi64(type);
    writer.Write(value);
  }
  return writer.Take().ToString();
}

Decoded<AuthToken> AuthToken::Decode(std::string_view encoded) {
  Result<AuthToken> token = Read(encoded);
  if (!token.ok()) {
    return Fault::Session(SessionCode::kKeyValueFormattingError, token.error().ToString());
  }
  return *std::move(token);
}

}  // namespace kvcast::moqt
