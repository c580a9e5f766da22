#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/error.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/kvcast.h"

// What the functions of the C interface have in common.
namespace kvcast {

// Remembers the message for kvcast_message().
kvcast_code FailedBecause(const Error& error);
kvcast_code FailedBecause(kvcast_code code, const char* message);

// What was given, and zeros where the caller knows of less than we do. Invalid: no struct, or one
// that is smaller than its first version was, or implausibly large.
template <typename Struct>
Result<Struct> Given(const Struct* given, size_t first_version_bytes) {
  constexpr size_t kBytesMax = 4096;
  Struct taken{};
  if (given == nullptr || given->struct_size < first_version_bytes ||
      given->struct_size > kBytesMax) {
    return Error(ErrorCode::kInvalid,
                 "A struct is missing, or its struct_size is not what sizeof says.");
  }
  std::memcpy(&taken, given, std::min(given->struct_size, sizeof(Struct)));
  return taken;
}

// Nothing of ours passes the border: not even what std::bad_alloc says.
template <typename Call>
kvcast_code Guarded(const Call& call) noexcept {
  try {
    const Result<kvcast_code> code = call();
    return code.ok() ? *code : FailedBecause(code.error());
  } catch (const std::bad_alloc&) {
    return FailedBecause(KVCAST_NO_MEMORY, "There is no memory left.");
  } catch (...) {
    return FailedBecause(KVCAST_INTERNAL, "Something threw that must not.");
  }
}

// Whose names are used, and where.
struct NodeTerms {
  std::vector<NodeAddress> addresses;  // In order of preference.
  Tenant tenant = Tenant::Public();
  NamingKey key = NamingKey::Public();
  Duration patience{};  // Not above zero: nobody waits.
  size_t index_bytes_max = 0;
  uint64_t prefetch_bytes_max = 0;
  bool own_connection = false;

  static Result<NodeTerms> Of(const kvcast_node* node);
};

inline std::string TextOf(const char* text) { return text == nullptr ? "" : text; }
// Invalid: bytes, and no address.
Result<std::span<const std::byte>> BytesOf(const void* data, size_t bytes);
// Below zero: the moment itself. Far ones are cut.
Instant After(int64_t microseconds);
// The same of what a caller gives for a timeout: 0 is 30 s.
Instant DeadlineOf(int64_t timeout_us);
// The same of how long a caller will wait for an end: below 0, until it comes.
Instant UntilEnd(int64_t wait_us);

}  // namespace kvcast
