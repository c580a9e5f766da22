#include "kvcast/io/quic_connection.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>
#include <bit>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/quic_callbacks.h"
#include "kvcast/moqt/codes.h"

namespace kvcast {
namespace {

constexpr size_t kEthernetDatagramBytes = 1452;  // 1500, less the headers of IPv6 and UDP.
constexpr size_t kJumboDatagramBytes = 8952;     // 9000, likewise.
constexpr size_t kDatagramFrameBytes = 65'535;
constexpr uint8_t kNoApplicationProtocol = 120;  // A TLS alert.

ngtcp2_tstamp Stamp(Instant instant) {
  return static_cast<ngtcp2_tstamp>(instant.time_since_epoch().count());
}

ngtcp2_duration ToQuic(Duration duration) { return static_cast<ngtcp2_duration>(duration.count()); }

Duration FromQuic(ngtcp2_duration duration) { return Duration(static_cast<int64_t>(duration)); }

ngtcp2_cid RandomId(size_t bytes) {
  ngtcp2_cid id{};
  id.datalen = bytes;
  FillRandom(std::as_writable_bytes(std::span(id.data)).first(bytes));
  return id;
}

ngtcp2_addr ToQuic(const SocketAddress& address) {
  return {const_cast<sockaddr*>(address.get()), address.length()};
}

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

ngtcp2_settings Settings(const QuicOptions& options, const std::vector<uint16_t>& probes) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = Stamp(Now());
  settings.cc_algo = options.congestion_control == CongestionControl::kBbr ? NGTCP2_CC_ALGO_BBR
                                                                           : NGTCP2_CC_ALGO_CUBIC;
  settings.handshake_timeout = ToQuic(options.handshake_timeout);
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
  // MoQT wants datagrams to be possible. Nobody here sends any, and those that come are dropped.
  parameters.max_datagram_frame_size = kDatagramFrameBytes;
  return parameters;
}

std::string_view AsText(const ngtcp2_ccerr& error) {
  return {reinterpret_cast<const char*>(error.reason), error.reasonlen};
}

}  // namespace

QuicConnection::QuicConnection(Setup setup)
    : port_(setup.port),
      owner_(setup.owner),
      options_(std::move(setup.options)),
      remote_(setup.remote),
      tls_(std::move(setup.tls)),
      make_user_(std::move(setup.make_user)),
      timer_(port_->loop(), [this] { OnTimer(); }),
      probe_bytes_(ProbeBytes(options_, remote_.is_loopback())) {
  FillRandom(std::as_writable_bytes(std::span(reset_secret_)));
}

QuicConnection::~QuicConnection() {
  if (connection_ != nullptr) {
    ngtcp2_conn_del(connection_);  // Before the streams' bytes, to which it has pointers.
  }
}

Result<std::unique_ptr<QuicConnection>> QuicConnection::Connect(Setup setup) {
  std::unique_ptr<QuicConnection> made(new QuicConnection(std::move(setup)));
  KVCAST_TRY_VOID(made->Start(nullptr));
  made->user_ = made->make_user_(*made);
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
  const ngtcp2_settings settings = Settings(options_, probe_bytes_);
  ngtcp2_transport_params parameters = Parameters(options_);
  const ngtcp2_cid own = RandomId(kConnectionIdBytes);
  const ngtcp2_path path{ToQuic(port_->local()), ToQuic(remote_), nullptr};
  int failed = 0;
  if (first != nullptr) {
    parameters.original_dcid = first->destination;
    parameters.original_dcid_present = 1;
    failed = ngtcp2_conn_server_new(&connection_, &first->source, &own, &path, first->version,
                                    &callbacks, &settings, &parameters, nullptr, this);
  } else {
    const ngtcp2_cid guess = RandomId(NGTCP2_MAX_CIDLEN);  // The server chooses its own.
    failed = ngtcp2_conn_client_new(&connection_, &guess, &own, &path, NGTCP2_PROTO_VER_V1,
                                    &callbacks, &settings, &parameters, nullptr, this);
  }
  if (failed != 0) {
    return Error(ErrorCode::kMachine,
                 std::string("Cannot make a QUIC connection: ") + ngtcp2_strerror(failed));
  }
  tls_->Attach(connection_);
  ngtcp2_conn_set_keep_alive_timeout(
      connection_, options_.keep_alive == Duration(0) ? UINT64_MAX : ToQuic(options_.keep_alive));
  return {};
}

std::vector<ngtcp2_cid> QuicConnection::Ids() const {
  std::vector<ngtcp2_cid> ids(ngtcp2_conn_get_scid(connection_, nullptr));
  ngtcp2_conn_get_scid(connection_, ids.data());
  if (ngtcp2_conn_is_server(connection_) != 0) {
    ids.push_back(*ngtcp2_conn_get_client_initial_dcid(connection_));
  }
  return ids;
}

size_t QuicConnection::datagram_bytes() const {
  return ngtcp2_conn_get_path_max_tx_udp_payload_size(connection_);
}

bool QuicConnection::is_ours(moqt::StreamId id) const {
  return ngtcp2_conn_is_local_stream(connection_, static_cast<int64_t>(id)) != 0;
}
bool QuicConnection::can_send(moqt::StreamId id) const { return !moqt::IsUni(id) || is_ours(id); }
bool QuicConnection::can_receive(moqt::StreamId id) const {
  return !moqt::IsUni(id) || !is_ours(id);
}

void QuicConnection::Poke() {
  if (phase_ == Phase::kOpen) {
    more_to_write_ = true;
    SetTimer();
  }
}

void QuicConnection::Close(uint64_t code, std::string reason) {
  if (phase_ == Phase::kOpen && !close_) {
    close_ = moqt::CloseConnection{code, std::move(reason)};
    Poke();
  }
}

void QuicConnection::Receive(const SocketAddress& from, std::span<const std::byte> datagram) {
  if (phase_ != Phase::kOpen) {
    // Told again, ever more seldom: the farewell may be lost, and two peers must not play
    // ping-pong.
    if (phase_ == Phase::kClosing && std::has_single_bit(++packets_after_end_)) {
      SendFarewell();
    }
    return;
  }
  const ngtcp2_path path{ToQuic(port_->local()), ToQuic(from), nullptr};
  const ngtcp2_pkt_info info{};
  const int failed = ngtcp2_conn_read_pkt(connection_, &path, &info,
                                          reinterpret_cast<const uint8_t*>(datagram.data()),
                                          datagram.size(), Stamp(Now()));
  no_connection_credit_ = false;  // The packet may have brought some.
  if (failed == NGTCP2_ERR_DRAINING) {
    OnPeerClosed();
  } else if (failed != 0) {
    Fail(failed);
  } else {
    BuryStreams();
  }
}

int QuicConnection::OnHandshakeCompleted() {
  if (!tls_->AgreedOnProtocol()) {
    ngtcp2_conn_set_tls_alert(connection_, kNoApplicationProtocol);
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  ready_ = true;
  if (user_ == nullptr) {
    user_ = make_user_(*this);
  }
  owner_->OnReady(*this);
  Drain();
  return 0;
}

int QuicConnection::OnStreamOpened(int64_t id) {
  moqt::SendOrder order;
  order.tier = moqt::SendOrder::Tier::kRequest;
  streams_.Add(static_cast<moqt::StreamId>(id), order).open = true;
  return 0;
}

int QuicConnection::OnStreamData(int64_t id, std::span<const std::byte> bytes, bool fin) {
  QuicStream* const stream = streams_.Find(static_cast<moqt::StreamId>(id));
  if (stream == nullptr || stream->receive_over || user_ == nullptr) {
    return 0;
  }
  stream->receive_over = fin;
  user_->OnStreamData(stream->id, bytes, fin);
  Drain();
  return 0;
}

int QuicConnection::OnStreamReset(int64_t id, uint64_t code) {
  QuicStream* const stream = streams_.Find(static_cast<moqt::StreamId>(id));
  if (user_ == nullptr || (stream != nullptr && stream->receive_over)) {
    return 0;
  }
  if (stream != nullptr) {
    stream->receive_over = true;
  }
  // Without a stream, it was given up before anything of it came, and never becomes one.
  user_->OnStreamReset(static_cast<moqt::StreamId>(id), code);
  Drain();
  return 0;
}

int QuicConnection::OnAcknowledged(int64_t id, uint64_t offset) {
  if (QuicStream* const stream = streams_.Find(static_cast<moqt::StreamId>(id))) {
    stream->queue.Acknowledge(offset);
  }
  return 0;
}

int QuicConnection::OnStreamClosed(int64_t id, std::optional<uint64_t> code) {
  dead_.push_back({static_cast<moqt::StreamId>(id), code});
  return 0;
}

int QuicConnection::OnMoreStreamCredit(int64_t id) {
  if (QuicStream* const stream = streams_.Find(static_cast<moqt::StreamId>(id))) {
    stream->starved = false;
    streams_.Changed(*stream);
  }
  return 0;
}

int QuicConnection::OnIdWanted(ngtcp2_cid* id, uint8_t* reset_token, size_t bytes) {
  *id = RandomId(bytes);
  if (ngtcp2_crypto_generate_stateless_reset_token(reset_token, reset_secret_.data(),
                                                   reset_secret_.size(), id) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  owner_->OnIdIssued(*this, *id);
  return 0;
}

// QUIC is done with these streams; whatever of their end the session does not know, it hears now.
void QuicConnection::BuryStreams() {
  for (size_t i = 0; i < dead_.size(); ++i) {  // The session may act, but no stream dies of that.
    const Dead dead = dead_[i];
    QuicStream* const stream = streams_.Find(dead.stream);
    if (stream == nullptr) {
      continue;
    }
    // Our half ends by an end or a reset of ours, or else because the peer wanted no more.
    if (can_send(dead.stream) && (stream->stopped || !stream->send_over)) {
      stream->send_over = true;
      stream->stopped = false;
      user_->OnStopSending(dead.stream, dead.code.value_or(0));
      Drain();
    }
    if (can_receive(dead.stream) && !stream->receive_over) {
      stream->receive_over = true;
      user_->OnStreamReset(dead.stream, stream->stop_code.value_or(dead.code.value_or(0)));
      Drain();
    }
    streams_.Remove(dead.stream);
    if (!is_ours(dead.stream)) {
      moqt::IsUni(dead.stream) ? ngtcp2_conn_extend_max_streams_uni(connection_, 1)
                               : ngtcp2_conn_extend_max_streams_bidi(connection_, 1);
    }
  }
  dead_.clear();
}

void QuicConnection::OnTimer() {
  if (phase_ != Phase::kOpen) {
    phase_ = Phase::kGone;
    owner_->OnGone(*this);
    return;
  }
  const ngtcp2_tstamp now = Stamp(Now());
  if (ngtcp2_conn_get_expiry(connection_) <= now) {
    if (const int failed = ngtcp2_conn_handle_expiry(connection_, now); failed != 0) {
      Fail(failed);
      return;
    }
  }
  Drain();
  Flush();
}

void QuicConnection::Flush() {
  if (phase_ == Phase::kOpen) {
    WritePackets();
  }
  if (phase_ == Phase::kOpen && close_) {
    CarryOutClose();
  }
  if (phase_ == Phase::kOpen) {
    SetTimer();
  }
}

void QuicConnection::SetTimer() {
  if (more_to_write_ && !port_->blocked()) {
    timer_.Set(Now());
    return;
  }
  const ngtcp2_tstamp expiry = ngtcp2_conn_get_expiry(connection_);
  if (expiry == UINT64_MAX) {
    timer_.Stop();
  } else {
    timer_.Set(Instant(FromQuic(expiry)));
  }
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
  }
  ngtcp2_ccerr error;
  ngtcp2_ccerr_default(&error);
  if (const uint8_t alert = ngtcp2_conn_get_tls_alert(connection_); alert != 0) {
    ngtcp2_ccerr_set_tls_alert(&error, alert, nullptr, 0);
    if (alert == kNoApplicationProtocol) {
      reason = "The peer does not speak " + options_.alpn + ".";
    }
  } else {
    ngtcp2_ccerr_set_liberr(&error, library_error, nullptr, 0);
  }
  const bool silent = library_error == NGTCP2_ERR_IDLE_CLOSE ||
                      library_error == NGTCP2_ERR_DROP_CONN || library_error == NGTCP2_ERR_RETRY;
  if (!silent) {
    SayClosing(error);
  }
  const Duration linger = silent ? Duration(0) : 3 * FromQuic(ngtcp2_conn_get_pto(connection_));
  End(silent ? Phase::kDraining : Phase::kClosing, linger,
      static_cast<uint64_t>(moqt::SessionCode::kInternalError), reason);
}

void QuicConnection::SayClosing(const ngtcp2_ccerr& error) {
  farewell_.resize(kEthernetDatagramBytes);
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  const ngtcp2_ssize bytes = ngtcp2_conn_write_connection_close(
      connection_, &path.path, &info, farewell_.data(), farewell_.size(), &error, Stamp(Now()));
  farewell_.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  SendFarewell();
}

void QuicConnection::SendFarewell() {
  if (!farewell_.empty() && !port_->blocked()) {
    port_->batch().Restart(remote_, farewell_);
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
  std::string reason =
      "QUIC: the peer closed with transport error " + std::to_string(error.error_code);
  if (error.error_code == (NGTCP2_CRYPTO_ERROR | kNoApplicationProtocol)) {
    reason = "The peer does not speak " + options_.alpn + ".";
  } else if (error.error_code > NGTCP2_CRYPTO_ERROR &&
             error.error_code <= NGTCP2_CRYPTO_ERROR + UINT8_MAX) {
    reason = QuicTls::Explain(static_cast<uint8_t>(error.error_code - NGTCP2_CRYPTO_ERROR));
  }
  End(Phase::kDraining, linger, static_cast<uint64_t>(moqt::SessionCode::kInternalError), reason);
}

void QuicConnection::End(Phase phase, Duration linger, uint64_t code, std::string_view reason) {
  phase_ = phase;
  timer_.Set(Now() + linger);
  if (user_ != nullptr) {
    user_->OnConnectionClosed(code, reason);
  }
}

}  // namespace kvcast
