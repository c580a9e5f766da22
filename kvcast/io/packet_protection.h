#pragma once

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

class ReadAhead;

// Encrypts the packets of a connection by AES-128-GCM with libipsec-mb, at up to three times the
// speed of GnuTLS, where kvcast was built with it and the processor has what makes it fast (VAES).
// GnuTLS does all the rest: the handshake, its packets, other ciphers, and everything elsewhere.
//
// A connection's keys are handed to ngtcp2 as opaque handles. Those of GnuTLS are pointers to
// memory, and even; ours are made odd, which tells one from the other wherever they come back.
struct PacketProtection {
  // Whether there is anything faster than GnuTLS.
  static bool IsFast();

  // How ngtcp2 uses keys, ours or GnuTLS's.
  static void AddTo(ngtcp2_callbacks& calls);
  // Makes keys of ours from the secrets of this session's application data. To be called after
  // ngtcp2 has configured the session. REQUIRES: IsFast().
  static void AddTo(gnutls_session_t session);
  // As ngtcp2's own, for a connection of such a session.
  static int UpdateKeys(ngtcp2_conn* connection, uint8_t* rx_secret, uint8_t* tx_secret,
                        ngtcp2_crypto_aead_ctx* rx_key, uint8_t* rx_iv,
                        ngtcp2_crypto_aead_ctx* tx_key, uint8_t* tx_iv,
                        const uint8_t* old_rx_secret, const uint8_t* old_tx_secret,
                        size_t secret_bytes);

  // While there is one of these, what this thread encrypts with keys of ours is encrypted in steps,
  // and the next bytes asked for between them.
  class Beside {
   public:
    explicit Beside(ReadAhead& beside);
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;
    ~Beside();
  };

  static constexpr size_t kKeyBytes = 16;
  static constexpr size_t kIvBytes = 12;
  static constexpr size_t kTagBytes = 16;
  // What QUIC version 1 derives from a secret (RFC 9001, 5.1). False where GnuTLS fails.
  struct Keys {
    std::array<uint8_t, kKeyBytes> key;
    std::array<uint8_t, kIvBytes> iv;
    std::array<uint8_t, kKeyBytes> header_key;
  };
  static bool Derive(Keys& keys, const ngtcp2_crypto_md& digest, std::span<const uint8_t> secret);

  // Handles of ours. REQUIRES of making one: IsFast().
  static ngtcp2_crypto_aead_ctx MakeKey(std::span<const uint8_t, kKeyBytes> key);
  static ngtcp2_crypto_cipher_ctx MakeHeaderKey(std::span<const uint8_t, kKeyBytes> key);
  static bool IsOurs(const void* handle);
};

}  // namespace kvcast
