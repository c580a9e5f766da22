#include "kvcast/base/digest.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

gnutls_hash_hd_t AsHash(void* handle) { return static_cast<gnutls_hash_hd_t>(handle); }
gnutls_hmac_hd_t AsHmac(void* handle) { return static_cast<gnutls_hmac_hd_t>(handle); }

}  // namespace

std::string Digest::ToHex() const { return kvcast::ToHex(bytes); }

Result<Digest> Digest::FromHex(std::string_view text) {
  KVCAST_TRY(const std::vector<std::byte> decoded, kvcast::FromHex(text));
  if (decoded.size() != kBytes) {
    return Error(ErrorCode::kMalformed,
                 "A digest has 64 hex digits; these are " + std::to_string(text.size()) + ".");
  }
  Digest digest;
  std::memcpy(digest.bytes.data(), decoded.data(), kBytes);
  return digest;
}

// SHA-256 needs nothing from the outside but memory, so a failure here is one of ours.
Sha256::Sha256() {
  gnutls_hash_hd_t handle = nullptr;
  KVCAST_CHECK(gnutls_hash_init(&handle, GNUTLS_DIG_SHA256) == 0);
  handle_ = handle;
}

Sha256::~Sha256() { gnutls_hash_deinit(AsHash(handle_), nullptr); }

void Sha256::Update(std::span<const std::byte> bytes) {
  KVCAST_CHECK(gnutls_hash(AsHash(handle_), bytes.data(), bytes.size()) == 0);
}

Digest Sha256::Finish() {
  Digest digest;
  gnutls_hash_output(AsHash(handle_), digest.bytes.data());
  return digest;
}

Digest Sha256::Of(std::span<const std::byte> bytes) {
  Digest digest;
  KVCAST_CHECK(
      gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes.data(), bytes.size(), digest.bytes.data()) == 0);
  return digest;
}

Digest Sha256::Of(const Bytes& bytes) {
  Sha256 hash;
  for (size_t i = 0; i < bytes.piece_count(); ++i) {
    hash.Update(bytes.piece(i));
  }
  return hash.Finish();
}

HmacSha256::HmacSha256(std::span<const std::byte> key) {
  gnutls_hmac_hd_t handle = nullptr;
  KVCAST_CHECK(gnutls_hmac_init(&handle, GNUTLS_MAC_SHA256, key.data(), key.size()) == 0);
  handle_ = handle;
}

HmacSha256::HmacSha256(HmacSha256&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

HmacSha256::~HmacSha256() {
  if (handle_ != nullptr) {
    gnutls_hmac_deinit(AsHmac(handle_), nullptr);
  }
}

Digest HmacSha256::Of(std::span<const std::byte> message) {
  Digest digest;
  KVCAST_CHECK(gnutls_hmac(AsHmac(handle_), message.data(), message.size()) == 0);
  gnutls_hmac_output(AsHmac(handle_), digest.bytes.data());
  return digest;
}

}  // namespace kvcast
