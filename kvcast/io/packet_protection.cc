#include "kvcast/io/packet_protection.h"

#include <gnutls/crypto.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "kvcast/base/check.h"
#include "kvcast/io/read_ahead.h"

#ifdef KVCAST_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

namespace kvcast {
namespace {

thread_local ReadAhead* read_ahead = nullptr;

#ifdef KVCAST_IPSEC_MB

// Of one direction, expanded.
struct Key {
  alignas(64) gcm_key_data expanded;
};
struct HeaderKey {
  alignas(16) std::array<uint8_t, 16 * 15> encrypt;
  alignas(16) std::array<uint8_t, 16 * 15> decrypt;  // Nobody uses it.
};

// The library's functions for this processor. Those used here keep nothing in it.
IMB_MGR* Library() {
  static const std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)> library = [] {
    std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)> made(alloc_mb_mgr(0), &free_mb_mgr);
    if (made != nullptr) {
      init_mb_mgr_auto(made.get(), nullptr);
    }
    return made;
  }();
  return library.get();
}

template <typename T>
T* Ours(void* handle) {
  return reinterpret_cast<T*>(static_cast<char*>(handle) - 1);
}
void* AsHandle(void* key) { return static_cast<char*>(key) + 1; }

template <typename T>
void Delete(void* handle) {
  T* const key = Ours<T>(handle);
  gnutls_memset(key, 0, sizeof(*key));
  delete key;
}

int Encrypt(uint8_t* out, const ngtcp2_crypto_aead* aead, const ngtcp2_crypto_aead_ctx* key,
            const uint8_t* plain, size_t bytes, const uint8_t* nonce, size_t nonce_bytes,
            const uint8_t* header, size_t header_bytes) {
  if (!PacketProtection::IsOurs(key->native_handle)) {
    return ngtcp2_crypto_encrypt_cb(out, aead, key, plain, bytes, nonce, nonce_bytes, header,
                                    header_bytes);
  }
  const gcm_key_data* const expanded = &Ours<Key>(key->native_handle)->expanded;
  gcm_context_data state;
  if (read_ahead == nullptr) {
    IMB_AES128_GCM_ENC(Library(), expanded, &state, out, plain, bytes, nonce, header, header_bytes,
                       out + bytes, PacketProtection::kTagBytes);
    return 0;
  }
  IMB_AES128_GCM_INIT(Library(), expanded, &state, nonce, header, header_bytes);
  for (size_t at = 0; at < bytes; at += ReadAhead::kStepBytes) {
    read_ahead->Step();
    IMB_AES128_GCM_ENC_UPDATE(Library(), expanded, &state, out + at, plain + at,
                              std::min(ReadAhead::kStepBytes, bytes - at));
  }
  IMB_AES128_GCM_ENC_FINALIZE(Library(), expanded, &state, out + bytes,
                              PacketProtection::kTagBytes);
  return 0;
}

int Decrypt(uint8_t* out, const ngtcp2_crypto_aead* aead, const ngtcp2_crypto_aead_ctx* key,
            const uint8_t* sealed, size_t bytes, const uint8_t* nonce, size_t nonce_bytes,
            const uint8_t* header, size_t header_bytes) {
  if (!PacketProtection::IsOurs(key->native_handle)) {
    return ngtcp2_crypto_decrypt_cb(out, aead, key, sealed, bytes, nonce, nonce_bytes, header,
                                    header_bytes);
  }
  constexpr size_t kTagBytes = PacketProtection::kTagBytes;
  if (bytes < kTagBytes) {
    return NGTCP2_ERR_DECRYPT;
  }
  std::array<uint8_t, kTagBytes> sent;  // The plain text may be written over it.
  std::memcpy(sent.data(), sealed + bytes - kTagBytes, kTagBytes);
  std::array<uint8_t, kTagBytes> computed;
  gcm_context_data state;
  IMB_AES128_GCM_DEC(Library(), &Ours<Key>(key->native_handle)->expanded, &state, out, sealed,
                     bytes - kTagBytes, nonce, header, header_bytes, computed.data(), kTagBytes);
  // In a time that says nothing about where they differ.
  return gnutls_memcmp(sent.data(), computed.data(), kTagBytes) == 0 ? 0 : NGTCP2_ERR_DECRYPT;
}

int HeaderMask(uint8_t* out, const ngtcp2_crypto_cipher* cipher,
               const ngtcp2_crypto_cipher_ctx* key, const uint8_t* sample) {
  if (!PacketProtection::IsOurs(key->native_handle)) {
    return ngtcp2_crypto_hp_mask_cb(out, cipher, key, sample);
  }
  // One block in CFB mode is its plain text, here zeros, and the encrypted sample.
  const std::array<uint8_t, 16> zeros{};
  std::array<uint8_t, 16> mask;
  IMB_AES128_CFB_ONE(Library(), mask.data(), zeros.data(), sample,
                     Ours<HeaderKey>(key->native_handle)->encrypt.data(), mask.size());
  std::memcpy(out, mask.data(), NGTCP2_HP_MASKLEN);
  return 0;
}

void DeleteKey(ngtcp2_conn* connection, ngtcp2_crypto_aead_ctx* key, void* user) {
  if (PacketProtection::IsOurs(key->native_handle)) {
    Delete<Key>(key->native_handle);
  } else {
    ngtcp2_crypto_delete_crypto_aead_ctx_cb(connection, key, user);
  }
}

void DeleteHeaderKey(ngtcp2_conn* connection, ngtcp2_crypto_cipher_ctx* key, void* user) {
  if (PacketProtection::IsOurs(key->native_handle)) {
    Delete<HeaderKey>(key->native_handle);
  } else {
    ngtcp2_crypto_delete_crypto_cipher_ctx_cb(connection, key, user);
  }
}

using Install = int (*)(ngtcp2_conn*, const uint8_t*, size_t, const ngtcp2_crypto_aead_ctx*,
                        const uint8_t*, size_t, const ngtcp2_crypto_cipher_ctx*);

int InstallOurs(ngtcp2_conn* connection, std::span<const uint8_t> secret, Install install) {
  PacketProtection::Keys keys;
  if (!PacketProtection::Derive(keys, ngtcp2_conn_get_crypto_ctx(connection)->md, secret)) {
    return -1;
  }
  const ngtcp2_crypto_aead_ctx key = PacketProtection::MakeKey(keys.key);
  const ngtcp2_crypto_cipher_ctx header_key = PacketProtection::MakeHeaderKey(keys.header_key);
  const int failed = install(connection, secret.data(), secret.size(), &key, keys.iv.data(),
                             keys.iv.size(), &header_key);
  gnutls_memset(&keys, 0, sizeof(keys));
  if (failed != 0) {
    Delete<Key>(key.native_handle);
    Delete<HeaderKey>(header_key.native_handle);
  }
  return failed;
}

int OnSecrets(gnutls_session_t session, gnutls_record_encryption_level_t tls_level, const void* rx,
              const void* tx, size_t bytes) {
  auto* const reference = static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
  ngtcp2_conn* const connection = reference->get_conn(reference);
  const auto level = ngtcp2_crypto_gnutls_from_gnutls_record_encryption_level(tls_level);
  const std::span rx_secret(static_cast<const uint8_t*>(rx), rx == nullptr ? 0 : bytes);
  const std::span tx_secret(static_cast<const uint8_t*>(tx), tx == nullptr ? 0 : bytes);
  const bool ours = level == NGTCP2_ENCRYPTION_LEVEL_1RTT &&
                    gnutls_cipher_get(session) == GNUTLS_CIPHER_AES_128_GCM;
  if (!ours) {
    const bool failed = (rx != nullptr && ngtcp2_crypto_derive_and_install_rx_key(
                                              connection, nullptr, nullptr, nullptr, level,
                                              rx_secret.data(), bytes) != 0) ||
                        (tx != nullptr && ngtcp2_crypto_derive_and_install_tx_key(
                                              connection, nullptr, nullptr, nullptr, level,
                                              tx_secret.data(), bytes) != 0);
    return failed ? -1 : 0;
  }
  // With GnuTLS, ngtcp2 has taken the peer's parameters from the handshake by itself before this.
  if (rx != nullptr && InstallOurs(connection, rx_secret, &ngtcp2_conn_install_rx_key) != 0) {
    return -1;
  }
  return tx == nullptr ? 0 : InstallOurs(connection, tx_secret, &ngtcp2_conn_install_tx_key);
}

#endif

}  // namespace

PacketProtection::Beside::Beside(ReadAhead& beside) { read_ahead = &beside; }

PacketProtection::Beside::~Beside() { read_ahead = nullptr; }

bool PacketProtection::IsOurs(const void* handle) {
  return (reinterpret_cast<uintptr_t>(handle) & 1) != 0;
}

// hkdf_label := bytes:u16 label_bytes:u8 "tls13 " label context_bytes:u8(0)      big-endian
bool PacketProtection::Derive(Keys& keys, const ngtcp2_crypto_md& digest,
                              std::span<const uint8_t> secret) {
  const auto expand = [&](std::span<uint8_t> out, std::string_view label) {
    std::array<uint8_t, 32> info{0, static_cast<uint8_t>(out.size()),
                                 static_cast<uint8_t>(label.size())};
    std::memcpy(info.data() + 3, label.data(), label.size());
    return ngtcp2_crypto_hkdf_expand(out.data(), out.size(), &digest, secret.data(), secret.size(),
                                     info.data(), 3 + label.size() + 1) == 0;
  };
  return expand(keys.key, "tls13 quic key") && expand(keys.iv, "tls13 quic iv") &&
         expand(keys.header_key, "tls13 quic hp");
}

#ifdef KVCAST_IPSEC_MB

bool PacketProtection::IsFast() {
  return Library() != nullptr && (Library()->features & IMB_FEATURE_VAES) != 0;
}

void PacketProtection::AddTo(ngtcp2_callbacks& calls) {
  calls.encrypt = &Encrypt;
  calls.decrypt = &Decrypt;
  calls.hp_mask = &HeaderMask;
  calls.delete_crypto_aead_ctx = &DeleteKey;
  calls.delete_crypto_cipher_ctx = &DeleteHeaderKey;
}

void PacketProtection::AddTo(gnutls_session_t session) {
  gnutls_handshake_set_secret_function(session, &OnSecrets);
}

ngtcp2_crypto_aead_ctx PacketProtection::MakeKey(std::span<const uint8_t, kKeyBytes> key) {
  auto* const made = new Key;
  IMB_AES128_GCM_PRE(Library(), key.data(), &made->expanded);
  return {AsHandle(made)};
}

ngtcp2_crypto_cipher_ctx PacketProtection::MakeHeaderKey(std::span<const uint8_t, kKeyBytes> key) {
  auto* const made = new HeaderKey;
  IMB_AES_KEYEXP_128(Library(), key.data(), made->encrypt.data(), made->decrypt.data());
  return {AsHandle(made)};
}

int PacketProtection::UpdateKeys(ngtcp2_conn* connection, uint8_t* rx_secret, uint8_t* tx_secret,
                                 ngtcp2_crypto_aead_ctx* rx_key, uint8_t* rx_iv,
                                 ngtcp2_crypto_aead_ctx* tx_key, uint8_t* tx_iv,
                                 const uint8_t* old_rx_secret, const uint8_t* old_tx_secret,
                                 size_t secret_bytes) {
  std::array<uint8_t, kKeyBytes * 2> rx_bytes;  // Room for AES-256's, too.
  std::array<uint8_t, kKeyBytes * 2> tx_bytes;
  if (ngtcp2_crypto_update_key(connection, rx_secret, tx_secret, rx_key, rx_bytes.data(), rx_iv,
                               tx_key, tx_bytes.data(), tx_iv, old_rx_secret, old_tx_secret,
                               secret_bytes) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  auto* const session =
      static_cast<gnutls_session_t>(ngtcp2_conn_get_tls_native_handle(connection));
  if (gnutls_cipher_get(session) == GNUTLS_CIPHER_AES_128_GCM) {
    ngtcp2_crypto_aead_ctx_free(rx_key);
    ngtcp2_crypto_aead_ctx_free(tx_key);
    *rx_key = MakeKey(std::span(rx_bytes).first<kKeyBytes>());
    *tx_key = MakeKey(std::span(tx_bytes).first<kKeyBytes>());
  }
  gnutls_memset(rx_bytes.data(), 0, rx_bytes.size());
  gnutls_memset(tx_bytes.data(), 0, tx_bytes.size());
  return 0;
}

#else

bool PacketProtection::IsFast() { return false; }

void PacketProtection::AddTo(ngtcp2_callbacks& calls) {
  calls.encrypt = ngtcp2_crypto_encrypt_cb;
  calls.decrypt = ngtcp2_crypto_decrypt_cb;
  calls.hp_mask = ngtcp2_crypto_hp_mask_cb;
  calls.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  calls.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
}

void PacketProtection::AddTo(gnutls_session_t) { KVCAST_CHECK(IsFast()); }

ngtcp2_crypto_aead_ctx PacketProtection::MakeKey(std::span<const uint8_t, kKeyBytes>) {
  KVCAST_CHECK(IsFast());
  return {};
}

ngtcp2_crypto_cipher_ctx PacketProtection::MakeHeaderKey(std::span<const uint8_t, kKeyBytes>) {
  KVCAST_CHECK(IsFast());
  return {};
}

int PacketProtection::UpdateKeys(ngtcp2_conn* connection, uint8_t* rx_secret, uint8_t* tx_secret,
                                 ngtcp2_crypto_aead_ctx* rx_key, uint8_t* rx_iv,
                                 ngtcp2_crypto_aead_ctx* tx_key, uint8_t* tx_iv,
                                 const uint8_t* old_rx_secret, const uint8_t* old_tx_secret,
                                 size_t secret_bytes) {
  return ngtcp2_crypto_update_key_cb(connection, rx_secret, tx_secret, rx_key, rx_iv, tx_key, tx_iv,
                                     old_rx_secret, old_tx_secret, secret_bytes, nullptr);
}

#endif

}  // namespace kvcast
