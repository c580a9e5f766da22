#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/moqt/fault.h"

namespace kvcast::moqt {

// A credential, or a number that stands for one the peer has sent before.
//
//   token := alias_type:vi64 [alias:vi64] [type:vi64 value]
struct AuthToken {
  enum class AliasType : uint8_t { kDelete = 0, kRegister = 1, kUseAlias = 2, kUseValue = 3 };

  AliasType alias_type = AliasType::kUseValue;
  uint64_t alias = 0;  // Except for kUseValue.
  uint64_t type = 0;   // For kRegister and kUseValue, as is the value.
  std::string value;

  std::string Encode() const;
  // KEY_VALUE_FORMATTING_ERROR for what is no token.
  static Decoded<AuthToken> Decode(std::string_view encoded);

  friend bool operator==(const AuthToken&, const AuthToken&) = default;
};

}  // namespace kvcast::moqt
