#include "kvcast/io/quic_connection.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/quic_units.h"
#include "kvcast/moqt/codes.h"

namespace kvcast {

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

void QuicConnection::Receive(const UdpPath& on, std::span<const std::byte> datagram) {
  if (phase_ != Phase::kOpen) {
    // Told again, ever more seldom: the farewell may be lost, and two peers must not play
    // ping-pong.
    if (phase_ == Phase::kClosing && std::has_single_bit(++packets_after_end_)) {
      SendFarewell();
    }
    return;
  }
  const ngtcp2_path path = ToQuic(on);
  const ngtcp2_pkt_info info{};
  const Instant now = Now();
  if (user_ != nullptr) {
    user_->OnTime(now);
  }
  const int failed = ngtcp2_conn_read_pkt(connection_, &path, &info,
                                          reinterpret_cast<const uint8_t*>(datagram.data()),
                                          datagram.size(), ToQuic(now));
  heard_ = true;
  no_connection_credit_ = false;  // The packet may have brought some.
  if (refusals_ > 0) {
    refusals_ = 0;  // Somebody is there after all.
    SetKeepAlive(options_.keep_alive);
  }
  if (failed == NGTCP2_ERR_DRAINING) {
    OnPeerClosed();
  } else if (failed != 0) {
    Fail(failed);
  } else {
    BuryStreams();
  }
}

int QuicConnection::OnHandshakeCompleted() {
  const std::optional<std::string> agreed = tls_->AgreedProtocol();
  if (!agreed) {
    ngtcp2_conn_set_tls_alert(connection_, kTlsNoApplicationProtocol);
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  alpn_ = *agreed;
  const auto* const peer = ngtcp2_conn_get_remote_transport_params(connection_);
  if (peer == nullptr || peer->max_datagram_frame_size == 0) {
    Close(static_cast<uint64_t>(moqt::SessionCode::kProtocolViolation),
          "The peer takes no DATAGRAM frames, which MoQT requires of QUIC connections.");
    return 0;
  }
  ready_ = true;
  if (user_ == nullptr) {
    user_ = make_user_(*this);
  }
  user_->OnStreamsAllowed(allowance_.total());
  owner_->OnReady(*this);
  Drain();
  return 0;
}

int QuicConnection::OnStreamOpened(int64_t id) {
  moqt::SendOrder order;
  order.tier = moqt::SendOrder::Tier::kRequest;
  QuicStream& stream = streams_.Add(static_cast<moqt::StreamId>(id), order);
  stream.is_new = !moqt::IsUni(stream.id);
  peer_unis_ += moqt::IsUni(stream.id) ? 1U : 0U;
  streams_.Open(stream, id);
  return 0;
}

int QuicConnection::OnStreamData(int64_t id, std::span<const std::byte> bytes, bool fin) {
  QuicStream* const stream = streams_.Find(static_cast<moqt::StreamId>(id));
  if (stream == nullptr || stream->receive_over || user_ == nullptr) {
    return 0;
  }
  stream->receive_over = fin;
  if (stream->is_new) {
    if (stream->first_bytes.empty()) {
      new_streams_.push_back(stream->id);
    }
    stream->first_bytes += AsText(bytes);
    return 0;
  }
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
    HandOver(*stream);
    stream->receive_over = true;
  }
  // Without a stream, it was given up before anything of it came, and never becomes one.
  user_->OnStreamReset(static_cast<moqt::StreamId>(id), code);
  Drain();
  return 0;
}

int QuicConnection::OnAcknowledged(int64_t id, uint64_t offset) {
  if (QuicStream* const stream = streams_.FindNumber(id)) {
    stream->queue.Acknowledge(offset);
  }
  return 0;
}

int QuicConnection::OnStreamClosed(int64_t id, std::optional<uint64_t> code) {
  if (const QuicStream* const stream = streams_.FindNumber(id)) {
    dead_.push_back({stream->id, code});
  }
  return 0;
}

int QuicConnection::OnMoreStreamCredit(int64_t id) {
  if (QuicStream* const stream = streams_.FindNumber(id)) {
    stream->starved = false;
    streams_.Changed(*stream);
  }
  return 0;
}

int QuicConnection::OnIdWanted(ngtcp2_cid* id, uint8_t* reset_token, size_t bytes) {
  *id = RandomConnectionId(bytes);
  share_.Mark(*id);
  const StatelessAnswers::ResetToken token = answers_.TokenOf(*id);
  std::copy(token.begin(), token.end(), reset_token);
  owner_->OnIdIssued(*this, *id);
  return 0;
}

int QuicConnection::OnDatagramFrame(std::span<const std::byte> bytes) {
  if (user_ != nullptr) {
    user_->OnDatagram(bytes);
    Drain();
  }
  return 0;
}

int QuicConnection::OnMoreStreams(uint64_t bidi_total) {
  allowance_.OnGranted(bidi_total);  // Whoever will use the connection may not be there yet.
  if (user_ != nullptr) {
    user_->OnStreamsAllowed(allowance_.total());
    Drain();
  }
  return 0;
}

// A request that the peer makes in place of one that it has stopped comes after word of that, which
// has to be looked for, and cannot be while a packet is read.
void QuicConnection::HandOverNew() {
  if (phase_ != Phase::kOpen || new_streams_.empty()) {
    return;
  }
  NoticeStopped();
  for (const moqt::StreamId id : std::exchange(new_streams_, {})) {
    if (QuicStream* const stream = streams_.Find(id)) {
      HandOver(*stream);
    }
  }
  heard_ = true;  // These have not been looked at.
}

void QuicConnection::HandOver(QuicStream& stream) {
  const std::string bytes = std::exchange(stream.first_bytes, {});
  if (std::exchange(stream.is_new, false) && (!bytes.empty() || stream.receive_over)) {
    user_->OnStreamData(stream.id, AsBytes(bytes), stream.receive_over);
    Drain();
  }
}

// QUIC is done with these streams; whatever of their end the session does not know, it hears now.
void QuicConnection::BuryStreams() {
  for (size_t i = 0; i < dead_.size(); ++i) {  // The session may act, but no stream dies of that.
    const Dead dead = dead_[i];
    QuicStream* const stream = streams_.Find(dead.stream);
    if (stream == nullptr || user_ == nullptr) {
      continue;
    }
    HandOver(*stream);
    // Our half ends by an end or a reset of ours, or else because the peer wanted no more.
    if (can_send(dead.stream) && (stream->stopped || !stream->send_over)) {
      stream->send_over = true;
      stream->stopped = false;
      user_->OnStopSending(dead.stream, dead.code.value_or(0));
      Drain();
    } else if (can_send(dead.stream) && moqt::IsUni(dead.stream) && !stream->reset_code) {
      user_->OnDelivered(dead.stream);
      Drain();
    }
    if (can_receive(dead.stream) && !stream->receive_over) {
      stream->receive_over = true;
      user_->OnStreamReset(dead.stream, stream->stop_code.value_or(dead.code.value_or(0)));
      Drain();
    }
    growth_left_ += stream->window ? stream->window->bytes() - options_.stream_credit_bytes : 0;
    streams_.Remove(dead.stream);
    if (is_ours(dead.stream) && !moqt::IsUni(dead.stream)) {
      allowance_.OnClosed();
      user_->OnStreamsAllowed(allowance_.total());
    }
    if (!is_ours(dead.stream) && moqt::IsUni(dead.stream)) {
      --peer_unis_;
      ++streams_owed_;
    } else if (!is_ours(dead.stream)) {
      ngtcp2_conn_extend_max_streams_bidi(connection_, 1);
    }
  }
  dead_.clear();
  LetOpenMore();
}

// A stream that is over takes no more credit, but what it brought may still wait to be taken: a
// peer that sends many short streams is held up by their number.
void QuicConnection::LetOpenMore() {
  if (user_ == nullptr) {
    return;
  }
  const bool may_open = user_->MayOpenMore();
  if (may_open && streams_owed_ > 0) {
    ngtcp2_conn_extend_max_streams_uni(connection_, std::exchange(streams_owed_, 0));
  } else if (!may_open && peer_unis_ + streams_owed_ >= options_.peer_streams_uni) {
    user_->OnStreamsUsedUp();
  }
}

void QuicConnection::OnTimer() {
  if (phase_ != Phase::kOpen) {
    phase_ = Phase::kGone;
    owner_->OnGone(*this);
    return;
  }
  const Instant time = Now();
  const ngtcp2_tstamp now = ToQuic(time);
  if (user_ != nullptr) {
    user_->OnTime(time);
  }
  if (ngtcp2_conn_get_expiry(connection_) <= now) {
    if (const int failed = ngtcp2_conn_handle_expiry(connection_, now); failed != 0) {
      Fail(failed);
      return;
    }
  }
  Flush();
}

bool QuicConnection::UpdateKeys() {
  if (phase_ != Phase::kOpen || !ready_ ||
      ngtcp2_conn_initiate_key_update(connection_, ToQuic(Now())) != 0) {
    return false;
  }
  Poke();
  return true;
}

void QuicConnection::Flush() {
  Drain();  // Somebody may have poked it.
  HandOverNew();
  LetOpenMore();
  if (phase_ == Phase::kOpen && probe_due() <= Now()) {
    NoticeStopped();
  }
  if (phase_ == Phase::kOpen) {
    WritePackets();
  }
  if (phase_ == Phase::kOpen && close_ && !CloseMustWait()) {
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
  const Instant next = std::min(
      {expiry == UINT64_MAX ? Instant::max() : Instant(FromQuic(expiry)), probe_due(), close_by_});
  if (next == Instant::max()) {
    timer_.Stop();
  } else {
    timer_.Set(next);
  }
}

}  // namespace kvcast
