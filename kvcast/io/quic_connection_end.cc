#include <string>
#include <vector>

#include "kvcast/io/clock.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_units.h"
#include "kvcast/moqt/codes.h"

namespace kvcast {
namespace {

// One refusal may be forged or of long ago; so many in a row, with not a packet in between, are
// not. Until then the peer is asked every `kRefusalProbe`.
constexpr int kRefusalsMax = 3;
constexpr Duration kRefusalProbe = std::chrono::milliseconds(20);

constexpr uint64_t kInternalError = static_cast<uint64_t>(moqt::SessionCode::kInternalError);

std::string_view AsText(const ngtcp2_ccerr& error) {
  return {reinterpret_cast<const char*>(error.reason), error.reasonlen};
}

std::string NoProtocol(const std::vector<std::string>& ours) {
  std::string spoken;
  for (const std::string& alpn : ours) {
    spoken += (spoken.empty() ? "" : " or ") + alpn;
  }
  return "The peer does not speak " + spoken + ".";
}

}  // namespace

void QuicConnection::OnRefused() {
  if (phase_ != Phase::kOpen) {
    return;
  }
  ++refusals_;
  if (!ready_ || refusals_ >= kRefusalsMax) {
    End(Phase::kDraining, Duration(0), kInternalError,
        "Nobody listens at " + path_.remote.ToString() + (ready_ ? " any more." : "."));
    return;
  }
  SetKeepAlive(kRefusalProbe);
  SetTimer();
}

// To an address that is not proven, a server may send three times what came from there, and a
// packet of a few bytes buys no farewell. There is one only, so it waits for the proof, which is on
// its way.
bool QuicConnection::CloseMustWait() {
  if (!ngtcp2_conn_is_server(connection_) || !ready_ ||
      FromQuic(*ngtcp2_conn_get_path(connection_)) == proven_path_) {
    return false;
  }
  if (close_by_ == Instant::max()) {
    close_by_ = Now() + 3 * FromQuic(ngtcp2_conn_get_pto(connection_));
  }
  return Now() < close_by_;
}

void QuicConnection::CarryOutClose() {
  const moqt::CloseConnection close = *close_;
  ngtcp2_ccerr error;
  ngtcp2_ccerr_default(&error);
  ngtcp2_ccerr_set_application_error(&error, close.code,
                                     reinterpret_cast<const uint8_t*>(close.reason.data()),
                                     close.reason.size());
  SayClosing(error);
  End(Phase::kClosing, 3 * FromQuic(ngtcp2_conn_get_pto(connection_)), close.code, close.reason);
}

void QuicConnection::Fail(int library_error) {
  std::string reason = std::string("QUIC: ") + ngtcp2_strerror(library_error);
  if (!tls_->refusal().empty()) {
    reason = tls_->refusal();
  } else if (library_error == NGTCP2_ERR_HANDSHAKE_TIMEOUT) {
    reason = "No answer from " + path_.remote.ToString() + ".";
  } else if (library_error == NGTCP2_ERR_IDLE_CLOSE) {
    reason = "Nothing came from " + path_.remote.ToString() + " for too long.";
  } else if (library_error == NGTCP2_ERR_RECV_VERSION_NEGOTIATION) {
    reason = path_.remote.ToString() + " speaks another version of QUIC.";
  }
  ngtcp2_ccerr error;
  ngtcp2_ccerr_default(&error);
  if (const uint8_t alert = ngtcp2_conn_get_tls_alert(connection_); alert != 0) {
    ngtcp2_ccerr_set_tls_alert(&error, alert, nullptr, 0);
    if (alert == kTlsNoApplicationProtocol) {
      reason = NoProtocol(options_.alpns);
    } else if (alert == kTlsCertificateRequired) {
      reason = "The client shows no certificate.";
    }
    if (alert == kTlsCertificateRequired || !tls_->refusal().empty()) {
      owner_->OnUntrusted(*this, reason);
    }
  } else {
    ngtcp2_ccerr_set_liberr(&error, library_error, nullptr, 0);
  }
  const bool silent = library_error == NGTCP2_ERR_IDLE_CLOSE ||
                      library_error == NGTCP2_ERR_DROP_CONN || library_error == NGTCP2_ERR_RETRY ||
                      library_error == NGTCP2_ERR_RECV_VERSION_NEGOTIATION;
  if (!silent) {
    SayClosing(error);
  }
  const Duration linger = silent ? Duration(0) : 3 * FromQuic(ngtcp2_conn_get_pto(connection_));
  End(silent ? Phase::kDraining : Phase::kClosing, linger, kInternalError, reason);
}

void QuicConnection::SayClosing(const ngtcp2_ccerr& error) {
  farewell_.resize(kEthernetDatagramBytes);
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  const ngtcp2_ssize bytes = ngtcp2_conn_write_connection_close(
      connection_, &path.path, &info, farewell_.data(), farewell_.size(), &error, ToQuic(Now()));
  farewell_.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  if (bytes > 0) {
    farewell_path_ = FromQuic(path.path);  // Where the peer is now.
  }
  SendFarewell();
}

void QuicConnection::SendFarewell() {
  if (!farewell_.empty() && !port_->blocked()) {
    port_->batch().Restart(farewell_path_, farewell_);
    port_->Send();
  }
}

void QuicConnection::OnPeerClosed() {
  const ngtcp2_ccerr& error = *ngtcp2_conn_get_ccerr(connection_);
  const Duration linger = 3 * FromQuic(ngtcp2_conn_get_pto(connection_));
  if (error.type == NGTCP2_CCERR_TYPE_APPLICATION) {
    End(Phase::kDraining, linger, error.error_code, AsText(error));
    return;
  }
  if (reset_by_peer_) {
    End(Phase::kDraining, linger, kInternalError,
        path_.remote.ToString() + " knows nothing of this connection any more: it was restarted.");
    return;
  }
  std::string reason =
      "QUIC: the peer closed with transport error " + std::to_string(error.error_code);
  if (error.error_code == (NGTCP2_CRYPTO_ERROR | kTlsNoApplicationProtocol)) {
    reason = NoProtocol(options_.alpns);
  } else if (error.error_code > NGTCP2_CRYPTO_ERROR &&
             error.error_code <= NGTCP2_CRYPTO_ERROR + UINT8_MAX) {
    reason = QuicTls::Explain(static_cast<uint8_t>(error.error_code - NGTCP2_CRYPTO_ERROR));
  }
  End(Phase::kDraining, linger, kInternalError, reason);
}

void QuicConnection::End(Phase phase, Duration linger, uint64_t code, std::string_view reason) {
  phase_ = phase;
  timer_.Set(Now() + linger);
  if (user_ == nullptr && ngtcp2_conn_is_server(connection_) == 0) {
    user_ = make_user_(*this);  // Whoever connects hears what became of it.
  }
  if (user_ != nullptr) {
    user_->OnConnectionClosed(code, reason);
  }
}

}  // namespace kvcast
