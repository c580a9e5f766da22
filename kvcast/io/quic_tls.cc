#include "kvcast/io/quic_tls.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kvcast/io/packet_protection.h"

namespace kvcast {
namespace {

Error SetUpError(int code) {
  return {ErrorCode::kMachine,
          std::string("GnuTLS cannot start a session: ") + gnutls_strerror(code)};
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

}  // namespace

Result<std::unique_ptr<QuicTls>> QuicTls::Make(unsigned flags,
                                               std::shared_ptr<const TlsMaterial> material,
                                               std::vector<std::string> alpns) {
  gnutls_session_t session = nullptr;
  if (const int failed = gnutls_init(&session, flags); failed < 0) {
    return SetUpError(failed);
  }
  std::unique_ptr<QuicTls> tls(new QuicTls(session, std::move(material), std::move(alpns)));
  tls->reference_.user_data = tls.get();
  tls->reference_.get_conn = [](ngtcp2_crypto_conn_ref* reference) {
    return static_cast<QuicTls*>(reference->user_data)->connection_;
  };
  gnutls_session_set_ptr(session, &tls->reference_);
  int failed = gnutls_priority_set(session, tls->material_->priorities());
  if (failed >= 0) {
    failed =
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->material_->certificates());
  }
  if (failed >= 0) {
    failed = tls->OfferProtocols();
  }
  if (failed < 0) {
    return SetUpError(failed);
  }
  return tls;
}

Result<std::unique_ptr<QuicTls>> QuicTls::Server(const ServerCredentials& credentials,
                                                 const std::vector<std::string>& alpns) {
  // Tickets would let a peer come back without a certificate check of ours in between.
  KVCAST_TRY(std::unique_ptr<QuicTls> tls,
             Make(GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET, credentials.material(), alpns));
  if (ngtcp2_crypto_gnutls_configure_server_session(tls->session_) != 0) {
    return SetUpError(GNUTLS_E_INTERNAL_ERROR);
  }
  if (credentials.requires_clients()) {
    tls->checks_client_ = true;
    gnutls_certificate_server_set_request(tls->session_, GNUTLS_CERT_REQUIRE);
    gnutls_session_set_verify_function(tls->session_, &QuicTls::Verify);
  }
  return tls;
}

Result<std::unique_ptr<QuicTls>> QuicTls::Client(const ClientCredentials& credentials,
                                                 const std::vector<std::string>& alpns,
                                                 const std::string& server_name,
                                                 const SocketAddress& peer) {
  if (std::holds_alternative<InsecureLoopbackOnly>(credentials.trust()) && !peer.is_loopback()) {
    return Error(ErrorCode::kInvalid,
                 peer.ToString() +
                     " is not on this machine, so its certificate has to be checked: "
                     "pin it, or name the authorities to trust.");
  }
  // A certificate of ours is shown to every server that asks for one: one that does not trust its
  // authority then says so, rather than that there is none.
  KVCAST_TRY(std::unique_ptr<QuicTls> tls,
             Make(GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT, credentials.material(), alpns));
  tls->trust_ = credentials.trust();
  tls->server_name_ = server_name;
  tls->peer_is_loopback_ = peer.is_loopback();
  gnutls_session_set_verify_function(tls->session_, &QuicTls::Verify);
  if (!server_name.empty() && !IsAddress(server_name)) {
    gnutls_server_name_set(tls->session_, GNUTLS_NAME_DNS, server_name.data(), server_name.size());
  }
  if (ngtcp2_crypto_gnutls_configure_client_session(tls->session_) != 0) {
    return SetUpError(GNUTLS_E_INTERNAL_ERROR);
  }
  return tls;
}

QuicTls::~QuicTls() { gnutls_deinit(session_); }

void QuicTls::UseFastPackets() {
  if (PacketProtection::IsFast()) {
    has_fast_packets_ = true;
    PacketProtection::AddTo(session_);
  }
}

void QuicTls::Attach(ngtcp2_conn* connection) {
  connection_ = connection;
  ngtcp2_conn_set_tls_native_handle(connection, session_);
}

int QuicTls::OfferProtocols() {
  std::vector<gnutls_datum_t> protocols;
  for (std::string& alpn : alpns_) {
    protocols.push_back(
        {reinterpret_cast<unsigned char*>(alpn.data()), static_cast<unsigned>(alpn.size())});
  }
  return gnutls_alpn_set_protocols(session_, protocols.data(),
                                   static_cast<unsigned>(protocols.size()),
                                   GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE);
}

std::optional<std::string> QuicTls::PeerCertificate() const {
  unsigned count = 0;
  const gnutls_datum_t* const chain = gnutls_certificate_get_peers(session_, &count);
  if (chain == nullptr || count == 0) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(chain[0].data), chain[0].size);
}

std::optional<std::string> QuicTls::AgreedProtocol() const {
  gnutls_datum_t selected{};
  if (gnutls_alpn_get_selected_protocol(session_, &selected) != 0) {
    return std::nullopt;
  }
  std::string agreed(reinterpret_cast<const char*>(selected.data), selected.size);
  const bool ours = std::ranges::find(alpns_, agreed) != alpns_.end();
  return ours ? std::optional(std::move(agreed)) : std::nullopt;
}

std::string QuicTls::Explain(uint8_t alert) {
  const auto what = static_cast<gnutls_alert_description_t>(alert);
  if (what == GNUTLS_A_CERTIFICATE_REQUIRED) {
    return "The peer takes only those who show a certificate of an authority it trusts: give "
           "yours, "
           "with --cert and --key.";
  }
  switch (what) {
    case GNUTLS_A_BAD_CERTIFICATE:
    case GNUTLS_A_CERTIFICATE_REVOKED:
    case GNUTLS_A_CERTIFICATE_EXPIRED:
    case GNUTLS_A_CERTIFICATE_UNKNOWN:
    case GNUTLS_A_UNKNOWN_CA:
      return "The peer does not trust the certificate that it was shown: has its authority signed "
             "it, for clients, and is it still valid?";
    default:
      break;
  }
  const char* const name = gnutls_alert_get_name(what);
  return "The peer ended the handshake: TLS alert " + std::to_string(alert) +
         (name == nullptr ? "" : std::string(", ") + name) + ".";
}

int QuicTls::Verify(gnutls_session_t session) {
  const auto* reference =
      static_cast<const ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
  return static_cast<QuicTls*>(reference->user_data)->PeerIsTrusted() ? 0
                                                                      : GNUTLS_E_CERTIFICATE_ERROR;
}

bool QuicTls::PeerIsTrusted() {
  if (checks_client_) {
    return ClientIsSigned();
  }
  if (const auto* pinned = std::get_if<PinnedCertificate>(&trust_)) {
    return MatchesPin(pinned->fingerprint);
  }
  if (std::holds_alternative<InsecureLoopbackOnly>(trust_)) {
    return peer_is_loopback_;
  }
  return std::holds_alternative<InsecureSkipVerification>(trust_) || ServerIsSigned();
}

bool QuicTls::MatchesPin(const Digest& fingerprint) {
  unsigned count = 0;
  const gnutls_datum_t* const chain = gnutls_certificate_get_peers(session_, &count);
  if (chain == nullptr || count == 0) {
    refusal_ = "The server showed no certificate.";
    return false;
  }
  const Digest shown =
      Sha256::Of(std::as_bytes(std::span(chain[0].data, static_cast<size_t>(chain[0].size))));
  if (shown != fingerprint) {
    refusal_ = "The server's certificate has the fingerprint " + shown.ToHex() + ", not the " +
               fingerprint.ToHex() + " that was pinned: it may be another server.";
    return false;
  }
  return true;
}

bool QuicTls::IsSigned(const char* purpose, const std::string& host, const std::string& what) {
  const auto text_of = [](const char* text) {
    return reinterpret_cast<unsigned char*>(const_cast<char*>(text));
  };
  std::array<gnutls_typed_vdata_st, 2> wanted{{{GNUTLS_DT_KEY_PURPOSE_OID, text_of(purpose), 0},
                                               {GNUTLS_DT_DNS_HOSTNAME, text_of(host.c_str()), 0}}};
  unsigned status = 0;
  const int failed =
      gnutls_certificate_verify_peers(session_, wanted.data(), host.empty() ? 1 : 2, &status);
  if (failed >= 0 && status == 0) {
    return true;
  }
  refusal_ = what;
  gnutls_datum_t text{};
  if (failed >= 0 &&
      gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) >= 0) {
    refusal_ += ": " + std::string(reinterpret_cast<const char*>(text.data), text.size);
    gnutls_free(text.data);
  }
  while (refusal_.ends_with(' ') || refusal_.ends_with('.')) {
    refusal_.pop_back();
  }
  refusal_ += '.';
  return false;
}

bool QuicTls::ServerIsSigned() {
  if (server_name_.empty()) {
    // Any certificate of the authority's would do then: nobody means that.
    refusal_ = "There is no name that the server's certificate could be checked for.";
    return false;
  }
  if (IsSigned(GNUTLS_KP_TLS_WWW_SERVER, server_name_,
               "The server's certificate is not trusted for \"" + server_name_ + "\"")) {
    return true;
  }
  refusal_ +=
      " If an authority of yours has signed it, name that authority's PEM file; if you know the "
      "server by its certificate's fingerprint, add #FINGERPRINT to its address, as 'kvcast serve' "
      "prints it.";
  return false;
}

bool QuicTls::ClientIsSigned() {
  return IsSigned(GNUTLS_KP_TLS_WWW_CLIENT, "", "The client's certificate is not trusted");
}

}  // namespace kvcast
