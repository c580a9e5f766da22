#include "kvcast/engine/c_call.h"

#include <algorithm>

#include "kvcast/engine/version.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/worker_team.h"

namespace kvcast {
namespace {

constexpr size_t kMessageBytesMax = 1024;
constexpr size_t kOthersMax = 64;
constexpr int64_t kPatienceMsDefault = 10'000;
constexpr int64_t kTimeoutUsDefault = 30'000'000;
constexpr int64_t kMicrosecondsMax = int64_t{3600} * 1'000'000;
constexpr uint32_t kCodecThreadsMax = 256;

// The last words to this thread. No string: it is to be there when there is no memory left.
char* LastMessage() {
  thread_local char message[kMessageBytesMax] = "";
  return message;
}

kvcast_code CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMalformed:
      return KVCAST_MALFORMED;
    case ErrorCode::kUnsupported:
      return KVCAST_UNSUPPORTED;
    case ErrorCode::kTooLarge:
      return KVCAST_TOO_LARGE;
    case ErrorCode::kMismatch:
      return KVCAST_MISMATCH;
    case ErrorCode::kNotFound:
      return KVCAST_NOT_FOUND;
    case ErrorCode::kInvalid:
      return KVCAST_INVALID;
    case ErrorCode::kMachine:
      return KVCAST_MACHINE;
  }
  return KVCAST_INTERNAL;
}

Result<std::vector<NodeAddress>> AddressesOf(const kvcast_node& node) {
  if (node.other_count > kOthersMax || (node.others == nullptr && node.other_count > 0)) {
    return Error(ErrorCode::kInvalid,
                 "There are other nodes, and no addresses of them, or more "
                 "than 64.");
  }
  std::vector<std::string> texts = {TextOf(node.address)};
  for (size_t i = 0; i < node.other_count; ++i) {
    texts.push_back(TextOf(node.others[i]));
  }
  std::vector<NodeAddress> addresses;
  for (const std::string& text : texts) {
    KVCAST_TRY(NodeAddress address, NodeAddress::Parse(text, TextOf(node.authorities)));
    if (node.certificate != nullptr) {
      address.own = CertificateFiles{node.certificate, node.certificate_key};
    }
    address.token = TextOf(node.token);
    addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace

kvcast_code FailedBecause(kvcast_code code, const char* message) {
  const size_t bytes = std::min(std::strlen(message), kMessageBytesMax - 1);
  std::memcpy(LastMessage(), message, bytes);
  LastMessage()[bytes] = '\0';
  return code;
}

kvcast_code FailedBecause(const Error& error) {
  return FailedBecause(CodeOf(error.code()), error.ToString().c_str());
}

Result<NodeTerms> NodeTerms::Of(const kvcast_node* node) {
  constexpr size_t kFirstBytes = offsetof(kvcast_node, index_bytes_max) + sizeof(uint64_t);
  KVCAST_TRY(const kvcast_node given, Given(node, kFirstBytes));
  if ((given.certificate == nullptr) != (given.certificate_key == nullptr)) {
    return Error(ErrorCode::kInvalid, "A certificate goes with its key: both, or none.");
  }
  NodeTerms terms;
  KVCAST_TRY(terms.addresses, AddressesOf(given));
  if (given.tenant != nullptr) {
    KVCAST_TRY(terms.tenant, Tenant::Of(given.tenant));
  }
  if ((terms.tenant == Tenant::Public()) != (given.naming_key == nullptr)) {
    return Error(ErrorCode::kInvalid,
                 "A tenant has a naming key of its own, 32 bytes; only the public one has none.");
  }
  if (given.naming_key != nullptr) {
    const std::span key(static_cast<const std::byte*>(given.naming_key), Digest::kBytes);
    KVCAST_TRY(terms.key, NamingKey::Of(key));
    if (std::ranges::equal(terms.key.bytes(), NamingKey::Public().bytes())) {
      return Error(
          ErrorCode::kInvalid,
          "This is the public tenant's key, which is known to all: another tenant needs 32 "
          "random bytes of its own.");
    }
  }
  const int64_t patience_ms = given.patience_ms == 0 ? kPatienceMsDefault : given.patience_ms;
  terms.patience = std::chrono::milliseconds(std::clamp<int64_t>(patience_ms, 0, 3'600'000));
  terms.index_bytes_max = given.index_bytes_max == 0 ? size_t{1} << 30 : given.index_bytes_max;
  terms.prefetch_bytes_max =
      given.prefetch_bytes_max == 0 ? uint64_t{256} << 20 : given.prefetch_bytes_max;
  terms.own_connection = given.own_connection > 0;
  return terms;
}

Result<std::span<const std::byte>> BytesOf(const void* data, size_t bytes) {
  if (data == nullptr && bytes > 0) {
    return Error(ErrorCode::kInvalid, "There are bytes, and no address of them.");
  }
  return std::span(static_cast<const std::byte*>(data), bytes);
}

Instant After(int64_t microseconds) {
  return Now() + std::chrono::microseconds(std::clamp<int64_t>(microseconds, 0, kMicrosecondsMax));
}

Instant DeadlineOf(int64_t timeout_us) {
  return After(timeout_us == 0 ? kTimeoutUsDefault : timeout_us);
}

Instant UntilEnd(int64_t wait_us) { return wait_us < 0 ? Instant::max() : After(wait_us); }

}  // namespace kvcast

extern "C" {

uint32_t kvcast_version(void) {
  return KVCAST_VERSION_MAJOR << 16 | KVCAST_VERSION_MINOR << 8 | KVCAST_VERSION_PATCH;
}

const char* kvcast_version_text(void) { return kvcast::kVersionText; }

const char* kvcast_code_text(kvcast_code code) {
  switch (code) {
    case KVCAST_OK:
      return "ok";
    case KVCAST_PENDING:
      return "pending";
    case KVCAST_INVALID:
      return "invalid";
    case KVCAST_NOT_FOUND:
      return "not found";
    case KVCAST_TOO_LARGE:
      return "too large";
    case KVCAST_MISMATCH:
      return "mismatch";
    case KVCAST_MALFORMED:
      return "malformed";
    case KVCAST_UNSUPPORTED:
      return "unsupported";
    case KVCAST_MACHINE:
      return "machine";
    case KVCAST_NO_MEMORY:
      return "no memory";
    case KVCAST_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}

const char* kvcast_message(void) { return kvcast::LastMessage(); }

void kvcast_set_codec_threads(uint32_t threads) {
  kvcast::WorkerTeam::SetThreadsOfProcess(std::min(threads, kvcast::kCodecThreadsMax));
}

}  // extern "C"
