#include "kvcast/io/quic_callbacks.h"

#include <gnutls/crypto.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include "kvcast/io/packet_protection.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_units.h"

namespace kvcast {
namespace {

QuicConnection& Of(void* user_data) { return *static_cast<QuicConnection*>(user_data); }

// By ngtcp2's own glue to GnuTLS, but for packets.
void AddCrypto(ngtcp2_callbacks& calls) {
  calls.client_initial = ngtcp2_crypto_client_initial_cb;
  calls.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  calls.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  calls.recv_retry = ngtcp2_crypto_recv_retry_cb;
  PacketProtection::AddTo(calls);
  calls.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  calls.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  calls.rand = [](uint8_t* out, size_t bytes, const ngtcp2_rand_ctx*) {
    KVCAST_CHECK(gnutls_rnd(GNUTLS_RND_NONCE, out, bytes) == 0);
  };
}

}  // namespace

ngtcp2_callbacks QuicCallbacks::Make() {
  ngtcp2_callbacks calls{};
  AddCrypto(calls);
  calls.handshake_completed = [](ngtcp2_conn*, void* user) {
    return Of(user).OnHandshakeCompleted();
  };
  calls.stream_open = [](ngtcp2_conn*, int64_t id, void* user) {
    return Of(user).OnStreamOpened(id);
  };
  calls.recv_stream_data = [](ngtcp2_conn*, uint32_t flags, int64_t id, uint64_t,
                              const uint8_t* bytes, size_t length, void* user, void*) {
    return Of(user).OnStreamData(id, std::as_bytes(std::span(bytes, length)),
                                 (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0);
  };
  calls.stream_reset = [](ngtcp2_conn*, int64_t id, uint64_t, uint64_t code, void* user, void*) {
    return Of(user).OnStreamReset(id, code);
  };
  calls.acked_stream_data_offset = [](ngtcp2_conn*, int64_t id, uint64_t offset, uint64_t length,
                                      void* user, void*) {
    return Of(user).OnAcknowledged(id, offset + length);
  };
  calls.stream_close = [](ngtcp2_conn*, uint32_t flags, int64_t id, uint64_t code, void* user,
                          void*) {
    const bool has_code = (flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0;
    return Of(user).OnStreamClosed(id, has_code ? std::optional(code) : std::nullopt);
  };
  calls.extend_max_stream_data = [](ngtcp2_conn*, int64_t id, uint64_t, void* user, void*) {
    return Of(user).OnMoreStreamCredit(id);
  };
  calls.update_key = [](ngtcp2_conn* connection, uint8_t* rx_secret, uint8_t* tx_secret,
                        ngtcp2_crypto_aead_ctx* rx_key, uint8_t* rx_iv,
                        ngtcp2_crypto_aead_ctx* tx_key, uint8_t* tx_iv,
                        const uint8_t* old_rx_secret, const uint8_t* old_tx_secret,
                        size_t secret_bytes, void* user) {
    ++Of(user).key_updates_;
    if (Of(user).tls_->has_fast_packets()) {
      return PacketProtection::UpdateKeys(connection, rx_secret, tx_secret, rx_key, rx_iv, tx_key,
                                          tx_iv, old_rx_secret, old_tx_secret, secret_bytes);
    }
    return ngtcp2_crypto_update_key_cb(connection, rx_secret, tx_secret, rx_key, rx_iv, tx_key,
                                       tx_iv, old_rx_secret, old_tx_secret, secret_bytes, user);
  };
  calls.recv_datagram = [](ngtcp2_conn*, uint32_t, const uint8_t* bytes, size_t length,
                           void* user) {
    return Of(user).OnDatagramFrame(std::as_bytes(std::span(bytes, length)));
  };
  calls.extend_max_local_streams_bidi = [](ngtcp2_conn*, uint64_t total, void* user) {
    return Of(user).OnMoreStreams(total);
  };
  calls.recv_stateless_reset = [](ngtcp2_conn*, const ngtcp2_pkt_stateless_reset*, void* user) {
    Of(user).reset_by_peer_ = true;
    return 0;
  };
  calls.path_validation = [](ngtcp2_conn*, uint32_t, const ngtcp2_path* path, const ngtcp2_path*,
                             ngtcp2_path_validation_result result, void* user) {
    if (result == NGTCP2_PATH_VALIDATION_RESULT_SUCCESS) {
      Of(user).proven_path_ = FromQuic(*path);
    }
    return 0;
  };
  calls.get_new_connection_id = [](ngtcp2_conn*, ngtcp2_cid* id, uint8_t* token, size_t bytes,
                                   void* user) { return Of(user).OnIdWanted(id, token, bytes); };
  calls.remove_connection_id = [](ngtcp2_conn*, const ngtcp2_cid* id, void* user) {
    Of(user).owner_->OnIdRetired(*id);
    return 0;
  };
  return calls;
}

}  // namespace kvcast
