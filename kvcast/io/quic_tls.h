#pragma once

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/quic_credentials.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// The TLS half of one QUIC connection: proves who we are, checks who the peer is, and insists on
// an application protocol that both speak.
class QuicTls {
 public:
  // Of the protocols, the first that the client offers as well is taken.
  static Result<std::unique_ptr<QuicTls>> Server(const ServerCredentials& credentials,
                                                 const std::vector<std::string>& alpns);
  // Offers all of the protocols, of which the server takes one. `server_name` is what an authority
  // must have signed for; a pinned certificate needs none.
  static Result<std::unique_ptr<QuicTls>> Client(const ClientCredentials& credentials,
                                                 const std::vector<std::string>& alpns,
                                                 const std::string& server_name,
                                                 const SocketAddress& peer);
  ~QuicTls();
  QuicTls(const QuicTls&) = delete;
  QuicTls& operator=(const QuicTls&) = delete;

  // Protects packets by something faster than GnuTLS, where there is anything. Before the
  // handshake.
  void UseFastPackets();
  bool has_fast_packets() const { return has_fast_packets_; }

  // Both need each other; this object must outlive the connection.
  void Attach(ngtcp2_conn* connection);

  // The protocol of ours that both sides speak, if there is one. To be asked once the handshake is
  // over: GnuTLS says nothing when a peer names no protocol at all.
  std::optional<std::string> AgreedProtocol() const;
  // The certificate that the peer has shown, in DER form; absent if it has shown none.
  std::optional<std::string> PeerCertificate() const;
  // What it means that the peer ended the handshake with this TLS alert.
  static std::string Explain(uint8_t alert);
  // Why the peer's certificate was refused; empty if it was not.
  const std::string& refusal() const { return refusal_; }

 private:
  QuicTls(gnutls_session_t session, std::shared_ptr<const TlsMaterial> material,
          std::vector<std::string> alpns)
      : material_(std::move(material)), session_(session), alpns_(std::move(alpns)) {}
  static Result<std::unique_ptr<QuicTls>> Make(unsigned flags,
                                               std::shared_ptr<const TlsMaterial> material,
                                               std::vector<std::string> alpns);
  int OfferProtocols();
  static int Verify(gnutls_session_t session);
  bool PeerIsTrusted();
  bool MatchesPin(const Digest& fingerprint);
  bool ServerIsSigned();
  bool ClientIsSigned();
  // Whether an authority has signed the peer's certificate for `purpose`, and for `host` where that
  // is given. What is wrong goes to `refusal_`, after `what`.
  bool IsSigned(const char* purpose, const std::string& host, const std::string& what);

  std::shared_ptr<const TlsMaterial> material_;  // The session only points to it.
  gnutls_session_t session_;
  std::vector<std::string> alpns_;
  ngtcp2_crypto_conn_ref reference_{};
  ngtcp2_conn* connection_ = nullptr;
  std::string server_name_;
  ServerTrust trust_;           // A client's.
  bool checks_client_ = false;  // A server's.
  bool peer_is_loopback_ = false;
  bool has_fast_packets_ = false;
  std::string refusal_;
};

}  // namespace kvcast
