#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/auth_token.h"
#include "kvcast/moqt/fault.h"

namespace kvcast::moqt {

enum class Role : uint8_t { kClient, kServer };

inline Role Other(Role role) { return role == Role::kClient ? Role::kServer : Role::kClient; }

// The first message of each side, on its control stream. What we do not know in it is ignored.
//
//   setup := (type_delta:vi64 value)*       value := number:vi64 | length:vi64 bytes
struct Setup {
  std::optional<std::string> path;       // A client's alone, and on raw QUIC its duty.
  std::optional<std::string> authority;  // Likewise.
  std::optional<std::string> implementation;
  std::optional<uint64_t> auth_token_cache_bytes_max;
  std::vector<AuthToken> auth_tokens;

  // The whole message with its frame. Too large: more than a message may have.
  Result<Bytes> Encode() const;
  // The message's body. `sender` decides what may stand in it.
  static Decoded<Setup> Decode(std::string_view body, Role sender);

  friend bool operator==(const Setup&, const Setup&) = default;
};

}  // namespace kvcast::moqt
