#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/moqt/auth_token.h"

namespace kvcast::moqt {

enum class Role : uint8_t { kClient, kServer };

inline Role Other(Role role) { return role == Role::kClient ? Role::kServer : Role::kClient; }

// The first message of each side, on its control stream. What we do not know in it is ignored.
struct Setup {
  std::optional<std::string> path;       // A client's alone, and on raw QUIC its duty.
  std::optional<std::string> authority;  // Likewise.
  std::optional<std::string> implementation;
  std::optional<uint64_t> auth_token_cache_bytes_max;
  std::vector<AuthToken> auth_tokens;

  friend bool operator==(const Setup&, const Setup&) = default;
};

}  // namespace kvcast::moqt
