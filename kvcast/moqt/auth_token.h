#pragma once

#include <cstdint>
#include <string>

namespace kvcast::moqt {

// A credential, or a number that stands for one the peer has sent before.
struct AuthToken {
  enum class AliasType : uint8_t { kDelete = 0, kRegister = 1, kUseAlias = 2, kUseValue = 3 };

  AliasType alias_type = AliasType::kUseValue;
  uint64_t alias = 0;  // Except for kUseValue.
  uint64_t type = 0;   // For kRegister and kUseValue, as is the value. 0: agreed on elsewhere.
  std::string value;

  friend bool operator==(const AuthToken&, const AuthToken&) = default;
};

}  // namespace kvcast::moqt
