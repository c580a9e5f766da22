#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>

#include "kvcast/base/hex.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/quic_callbacks.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_units.h"

namespace kvcast {
namespace {

constexpr size_t kJumboDatagramBytes = 8952;  // 9000, less the headers of IPv6 and UDP.

// Packets that are acknowledged together. Each acknowledgement costs both sides about as much as a
// packet, and more of them would say nothing new; not more than a connection may send at first, so
// that it never waits for an acknowledgement that waits for packets.
constexpr size_t kPacketsPerAcknowledgement = 10;

// The sizes that networks have, up to what is asked for; only loopback has more than jumbo frames.
std::vector<uint16_t> ProbeBytes(const QuicOptions& options, bool loopback) {
  const size_t most = std::clamp<size_t>(options.datagram_bytes_max, NGTCP2_MAX_UDP_PAYLOAD_SIZE,
                                         loopback ? UdpSocket::kSendBytesMax : kJumboDatagramBytes);
  std::vector<uint16_t> probes;
  for (const size_t bytes : {kEthernetDatagramBytes, kJumboDatagramBytes, most}) {
    if (bytes <= most && bytes > NGTCP2_MAX_UDP_PAYLOAD_SIZE &&
        (probes.empty() || bytes > probes.back())) {
      probes.push_back(static_cast<uint16_t>(bytes));
    }
  }
  return probes;
}

ngtcp2_cc_algo Algorithm(CongestionControl control, bool loopback) {
  switch (control) {
    case CongestionControl::kByDistance:
      return loopback ? NGTCP2_CC_ALGO_CUBIC : NGTCP2_CC_ALGO_BBR;
    case CongestionControl::kCubic:
      return NGTCP2_CC_ALGO_CUBIC;
    case CongestionControl::kBbr:
      break;
  }
  return NGTCP2_CC_ALGO_BBR;
}

ngtcp2_settings Settings(const QuicOptions& options, const std::vector<uint16_t>& probes,
                         bool loopback) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = ToQuic(Now());
  settings.cc_algo = Algorithm(options.congestion_control, loopback);
  settings.handshake_timeout = ToQuic(options.handshake_timeout);
  settings.max_window = settings.max_stream_window = 0;  // They grow by ReceiveWindow.
  settings.ack_thresh = kPacketsPerAcknowledgement;
  settings.max_tx_udp_payload_size = NGTCP2_MAX_UDP_PAYLOAD_SIZE;
  settings.no_pmtud = probes.empty() ? 1 : 0;
  if (!probes.empty()) {
    settings.max_tx_udp_payload_size = probes.back();
    settings.pmtud_probes = probes.data();
    settings.pmtud_probeslen = probes.size();
  }
  return settings;
}

ngtcp2_transport_params Parameters(const QuicOptions& options) {
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_bidi_local = options.stream_credit_bytes;
  parameters.initial_max_stream_data_bidi_remote = options.stream_credit_bytes;
  parameters.initial_max_stream_data_uni = options.stream_credit_bytes;
  parameters.initial_max_data = options.connection_credit_bytes;
  parameters.initial_max_streams_bidi = options.peer_streams_bidi;
  parameters.initial_max_streams_uni = options.peer_streams_uni;
  parameters.max_idle_timeout = ToQuic(options.idle_timeout);
  parameters.max_datagram_frame_size = options.datagram_frame_bytes_max;
  return parameters;
}

}  // namespace

QuicConnection::QuicConnection(Setup setup)
    : port_(setup.port),
      owner_(setup.owner),
      options_(std::move(setup.options)),
      path_(setup.path),
      proven_path_(setup.path),
      answers_(setup.secret),
      share_(setup.share),
      tls_(std::move(setup.tls)),
      make_user_(std::move(setup.make_user)),
      timer_(port_->loop(), [this] { OnTimer(); }),
      probe_bytes_(ProbeBytes(options_, path_.remote.is_loopback())),
      datagrams_(options_.datagram_queue_bytes),
      window_(options_.connection_credit_bytes, options_.connection_credit_bytes_max),
      growth_left_(options_.stream_growth_bytes_max) {}

QuicConnection::~QuicConnection() {
  if (connection_ != nullptr) {
    ngtcp2_conn_del(connection_);  // Before the streams' bytes, to which it has pointers.
  }
}

Result<std::unique_ptr<QuicConnection>> QuicConnection::Connect(Setup setup) {
  std::unique_ptr<QuicConnection> made(new QuicConnection(std::move(setup)));
  KVCAST_TRY_VOID(made->Start(nullptr));
  made->alpn_ = made->options_.alpns.front();
  if (made->options_.alpns.size() == 1) {
    made->user_ = made->make_user_(*made);  // Nothing else can come of it.
  }
  made->Poke();
  return made;
}

Result<std::unique_ptr<QuicConnection>> QuicConnection::Accept(Setup setup,
                                                               const FirstPacket& first) {
  std::unique_ptr<QuicConnection> made(new QuicConnection(std::move(setup)));
  KVCAST_TRY_VOID(made->Start(&first));
  return made;
}

Result<void> QuicConnection::Start(const FirstPacket* first) {
  const ngtcp2_callbacks callbacks = QuicCallbacks::Make();
  ngtcp2_settings settings = Settings(options_, probe_bytes_, path_.remote.is_loopback());
  ngtcp2_transport_params parameters = Parameters(options_);
  ngtcp2_cid own = RandomConnectionId(kConnectionIdBytes);
  share_.Mark(own);
  const ngtcp2_path path = ToQuic(path_);
  int failed = 0;
  if (first != nullptr) {
    StartLog(settings, first->destination, "server");
    parameters.original_dcid = first->destination;
    parameters.original_dcid_present = 1;
    if (first->before_retry) {
      parameters.original_dcid = *first->before_retry;
      parameters.retry_scid = first->destination;
      parameters.retry_scid_present = 1;
      settings.token = first->token.data();
      settings.tokenlen = first->token.size();
      settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
    }
    const StatelessAnswers::ResetToken token = answers_.TokenOf(own);
    std::copy(token.begin(), token.end(), parameters.stateless_reset_token);
    parameters.stateless_reset_token_present = 1;
    failed = ngtcp2_conn_server_new(&connection_, &first->source, &own, &path, first->version,
                                    &callbacks, &settings, &parameters, nullptr, this);
  } else {
    const ngtcp2_cid guess = RandomConnectionId(NGTCP2_MAX_CIDLEN);  // The server chooses its own.
    StartLog(settings, guess, "client");
    failed = ngtcp2_conn_client_new(&connection_, &guess, &own, &path, NGTCP2_PROTO_VER_V1,
                                    &callbacks, &settings, &parameters, nullptr, this);
  }
  if (failed != 0) {
    return Error(ErrorCode::kMachine,
                 std::string("Cannot make a QUIC connection: ") + ngtcp2_strerror(failed));
  }
  if (options_.fast_packets) {
    tls_->UseFastPackets();
  }
  tls_->Attach(connection_);
  SetKeepAlive(options_.keep_alive);
  return {};
}

void QuicConnection::SetKeepAlive(Duration every) {
  ngtcp2_conn_set_keep_alive_timeout(connection_,
                                     every == Duration(0) ? UINT64_MAX : ToQuic(every));
}

// Both ends' files are named alike, by the id that the client chose for the server.
void QuicConnection::StartLog(ngtcp2_settings& settings, const ngtcp2_cid& id, const char* end) {
  if (options_.qlog_directory.empty()) {
    return;
  }
  const std::string name = ToHex(std::as_bytes(std::span(id.data, id.datalen))) + "-" + end;
  qlog_ = QlogFile::Make(options_.qlog_directory / (name + ".sqlog"), options_.qlog_bytes_max);
  if (qlog_ != nullptr) {
    settings.qlog_write = [](void* user, uint32_t, const void* event, size_t bytes) {
      static_cast<QuicConnection*>(user)->qlog_->Write(event, bytes);
    };
  }
}

}  // namespace kvcast
