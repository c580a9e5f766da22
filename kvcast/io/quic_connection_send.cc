#include <algorithm>
#include <array>

#include "kvcast/io/clock.h"
#include "kvcast/io/packet_protection.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/io/quic_units.h"
#include "kvcast/io/read_ahead.h"

namespace kvcast {
namespace {

// How many batches one connection sends before it listens again, and others have their turn.
constexpr int kBatchesPerTurn = 16;
// More pieces than a packet's worth of bytes usually lies in.
constexpr size_t kPiecesPerPacket = 16;
// What stands before and behind the bytes of a DATAGRAM frame: in the frame, and in a packet that
// has nothing else.
constexpr uint64_t kDatagramFrameHeaderBytes = 5;
constexpr size_t kDatagramOverheadBytes =
    1 + NGTCP2_MAX_CIDLEN + 4 + kDatagramFrameHeaderBytes + 16;
// How often two-way streams are looked at, whether the peer still wants them: so that it is soon,
// and at most a thousand streams in a second.
constexpr Duration kProbePerStream = std::chrono::milliseconds(1);
constexpr Duration kProbeMin = std::chrono::milliseconds(100);
constexpr Duration kProbeMax = std::chrono::seconds(1);

}  // namespace

void QuicConnection::Drain() {
  while (phase_ == Phase::kOpen && !close_ && user_ != nullptr) {
    auto action = user_->NextAction();
    if (!action) {
      return;
    }
    std::visit([this](auto& what) { Do(what); }, *action);
  }
}

void QuicConnection::Do(moqt::OpenStream& action) {
  KVCAST_CHECK(is_ours(action.stream));
  streams_.Add(action.stream, action.order);
  if (!moqt::IsUni(action.stream)) {
    waiting_bidi_.push_back(action.stream);
  }
}

void QuicConnection::Do(moqt::SendBytes& action) {
  QuicStream* const stream = streams_.Find(action.stream);
  if (stream == nullptr || stream->send_over) {
    return;  // It was given up, and the session will hear of it or knows.
  }
  stream->queue.Append(std::move(action.bytes));
  if (action.fin) {
    stream->queue.Finish();
  }
  streams_.Changed(*stream);
}

void QuicConnection::Do(moqt::ResetStream& action) {
  QuicStream* const stream = streams_.Find(action.stream);
  if (stream == nullptr || stream->reset_code) {
    return;
  }
  if (!stream->open && moqt::IsUni(stream->id)) {
    streams_.Remove(stream->id);  // The peer never hears of it.
    return;
  }
  stream->reset_code = action.code;
  stream->stopped = false;  // The session wants to hear no more of it.
  stream->unheard_of = is_ours(stream->id) && !stream->queue.has_sent_any();
  GiveUpSending(*stream);
  if (!stream->unheard_of) {
    ngtcp2_conn_shutdown_stream_write(connection_, 0, stream->number, action.code);
  }
}

void QuicConnection::Do(moqt::StopSending& action) {
  QuicStream* const stream = streams_.Find(action.stream);
  if (stream == nullptr || stream->receive_over || stream->stop_code) {
    return;
  }
  stream->stop_code = action.code;
  if (stream->open) {
    ngtcp2_conn_shutdown_stream_read(connection_, 0, stream->number, action.code);
  }
}

void QuicConnection::Do(moqt::StreamCredit& action) {
  uint64_t bytes = action.bytes;
  if (QuicStream* const stream = streams_.Find(action.stream)) {
    if (!stream->window) {
      stream->window.emplace(options_.stream_credit_bytes, options_.stream_credit_bytes_max);
    }
    const bool may_grow = user_->MayOpenMore();  // Else too much waits as it is.
    const uint64_t growth = GrowthOf(*stream->window, bytes, may_grow ? growth_left_ / 4 : 0);
    growth_left_ -= growth;
    bytes += growth;
  }
  ngtcp2_conn_extend_max_stream_offset(connection_, static_cast<int64_t>(action.stream), bytes);
}

void QuicConnection::Do(moqt::ConnectionCredit& action) {
  ngtcp2_conn_extend_max_offset(connection_, action.bytes + GrowthOf(window_, action.bytes));
}

uint64_t QuicConnection::GrowthOf(ReceiveWindow& window, uint64_t taken, uint64_t most) const {
  if (!window.Take(taken)) {
    return 0;
  }
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(connection_, &info);
  const bool measured = info.min_rtt != UINT64_MAX;
  return window.Grow(Now(), measured ? FromQuic(info.min_rtt) : Duration::zero(), most);
}

void QuicConnection::Do(moqt::SendDatagram& action) {
  datagrams_.Push(std::move(action.bytes), action.order, action.until);
}

void QuicConnection::Do(moqt::ReorderStream& action) {
  if (QuicStream* const stream = streams_.Find(action.stream)) {
    streams_.Reorder(*stream, action.order);
  }
}

void QuicConnection::Do(moqt::CloseConnection& action) { close_ = std::move(action); }

void QuicConnection::GiveUpSending(QuicStream& stream) {
  stream.send_over = true;
  stream.queue.DropUnsent();
  streams_.Changed(stream);
}

// Those that were given up meanwhile are opened too: the ids after theirs count on it.
void QuicConnection::OpenTwoWay() {
  while (!waiting_bidi_.empty()) {
    int64_t id = -1;
    if (ngtcp2_conn_open_bidi_stream(connection_, &id, nullptr) != 0) {
      return;  // Not yet: the peer's limit is reached, or there is no connection.
    }
    KVCAST_CHECK(static_cast<moqt::StreamId>(id) == waiting_bidi_.front());
    waiting_bidi_.pop_front();
    QuicStream& stream = *streams_.Find(static_cast<moqt::StreamId>(id));
    streams_.Open(stream, id);
    if (stream.stop_code) {
      ngtcp2_conn_shutdown_stream_read(connection_, 0, id, *stream.stop_code);
    }
  }
}

// One-way streams are opened when it is their turn to send: of what the peer's limit leaves, the
// most urgent ones that there are by then have the use.
void QuicConnection::OpenStreams() {
  OpenTwoWay();
  while (QuicStream* const stream = streams_.NextToOpen()) {
    const QuicStream* const sends = streams_.Next();
    int64_t number = -1;
    if ((sends != nullptr && sends->order.urgency() < stream->order.urgency()) ||
        ngtcp2_conn_open_uni_stream(connection_, &number, nullptr) != 0) {
      return;
    }
    streams_.Open(*stream, number);
  }
}

void QuicConnection::WritePackets() {
  more_to_write_ = false;
  OpenStreams();
  for (int i = 0; i < kBatchesPerTurn; ++i) {
    const Round round = WriteBatch();
    if (round == Round::kFailed) {
      return;
    }
    TellSent();
    TellStopped();
    // What the session has added meanwhile may be sent, unless time or the network forbids. Streams
    // that the peer does not let us open are no news.
    OpenStreams();
    if (round == Round::kHeldBack || (round == Round::kIdle && !HasNews())) {
      return;
    }
  }
  more_to_write_ = true;
}

QuicConnection::Round QuicConnection::WriteBatch() {
  if (port_->blocked()) {
    more_to_write_ = true;
    return Round::kHeldBack;
  }
  PacketBatch& batch = port_->batch();
  const ngtcp2_tstamp now = ToQuic(Now());
  const size_t most = ngtcp2_conn_get_max_tx_udp_payload_size(connection_);
  const size_t burst = ngtcp2_conn_get_send_quantum(connection_);
  size_t written = 0;
  Round round = Round::kMore;
  while (!batch.full() && written < burst) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    const ngtcp2_ssize bytes = WritePacket(batch.Room().first(most), path, now);
    if (bytes <= 0) {
      round = bytes == 0 ? (HasNews() ? Round::kHeldBack : Round::kIdle) : Round::kFailed;
      port_->Send();
      if (bytes < 0) {
        Fail(static_cast<int>(bytes));
        return round;
      }
      break;
    }
    written += static_cast<size_t>(bytes);
    if (!AddPacket(FromQuic(path.path), static_cast<size_t>(bytes))) {
      round = Round::kHeldBack;
      break;
    }
  }
  if (!batch.empty() && !port_->blocked()) {
    port_->Send();
  }
  ngtcp2_conn_update_pkt_tx_time(connection_, now);
  return round;
}

bool QuicConnection::AddPacket(const UdpPath& path, size_t bytes) {
  PacketBatch& batch = port_->batch();
  if (batch.Takes(path, bytes)) {
    batch.Add(path, bytes);
    return true;
  }
  // Larger than those before it, as a probe of the path is, or to somewhere else.
  const auto packet = batch.Room().first(bytes);
  port_->Send();
  if (port_->blocked()) {
    more_to_write_ = true;
    return false;  // This packet is lost, which QUIC is made for.
  }
  batch.Restart(path, packet);
  return true;
}

ngtcp2_ssize QuicConnection::WritePacket(std::span<uint8_t> room, ngtcp2_path_storage& path,
                                         ngtcp2_tstamp now) {
  ngtcp2_pkt_info info{};
  while (true) {
    if (DatagramIsNext()) {
      const ngtcp2_ssize bytes = WriteDatagram(room, path, now);
      if (bytes == NGTCP2_ERR_WRITE_MORE) {
        continue;
      }
      return bytes;
    }
    OpenStreams();
    QuicStream* const stream = no_connection_credit_ ? nullptr : streams_.Next();
    std::array<ngtcp2_vec, kPiecesPerPacket> pieces;
    SendQueue::Gathered gathered;
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (stream != nullptr) {
      gathered = stream->queue.Gather(pieces, 2 * room.size());  // For this packet and the next.
      flags = NGTCP2_WRITE_STREAM_FLAG_MORE;                     // Small streams share a packet.
      if (gathered.end) {
        flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
      }
    }
    ReadAhead next({pieces.data(), gathered.pieces}, room.size(), room.size());
    next.Step();
    const PacketProtection::Beside beside(next);
    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize bytes = ngtcp2_conn_writev_stream(
        connection_, &path.path, &info, room.data(), room.size(), &taken, flags,
        stream != nullptr ? stream->number : -1, pieces.data(), gathered.pieces, now);
    if (stream != nullptr && taken >= 0) {
      const auto sent = static_cast<uint64_t>(taken);
      AccountSent(*stream, sent, gathered.end && sent == gathered.bytes);
    }
    if (bytes == NGTCP2_ERR_WRITE_MORE) {
      continue;
    }
    if (bytes >= 0 || stream == nullptr || !SettleRefusal(*stream, bytes)) {
      return bytes;
    }
  }
}

bool QuicConnection::DatagramIsNext() const {
  if (datagrams_.empty() || !ready_) {
    return false;
  }
  const QuicStream* const stream = no_connection_credit_ ? nullptr : streams_.Next();
  if (stream == nullptr || datagrams_.urgency() != stream->order.urgency()) {
    return stream == nullptr || datagrams_.urgency() < stream->order.urgency();
  }
  return datagram_lead_bytes_ < StreamBook::kTurnBytes;
}

ngtcp2_ssize QuicConnection::WriteDatagram(std::span<uint8_t> room, ngtcp2_path_storage& path,
                                           ngtcp2_tstamp now) {
  const Bytes& datagram = datagrams_.front();
  const ngtcp2_transport_params* const peer = ngtcp2_conn_get_remote_transport_params(connection_);
  const size_t most = std::min<uint64_t>(
      datagram_bytes() - kDatagramOverheadBytes,
      peer == nullptr || peer->max_datagram_frame_size < kDatagramFrameHeaderBytes
          ? 0
          : peer->max_datagram_frame_size - kDatagramFrameHeaderBytes);
  if (datagram.size() > most || datagram.piece_count() > kPiecesPerPacket ||
      datagrams_.until() < Instant(FromQuic(now))) {
    datagrams_.Pop();
    return NGTCP2_ERR_WRITE_MORE;  // As if it had been written: it is lost.
  }
  std::array<ngtcp2_vec, kPiecesPerPacket> pieces;
  for (size_t i = 0; i < datagram.piece_count(); ++i) {
    const auto piece = datagram.piece(i);
    // The library only reads through this pointer.
    pieces[i] = {reinterpret_cast<uint8_t*>(const_cast<std::byte*>(piece.data())), piece.size()};
  }
  ngtcp2_pkt_info info{};
  int accepted = 0;
  const ngtcp2_ssize bytes = ngtcp2_conn_writev_datagram(
      connection_, &path.path, &info, room.data(), room.size(), &accepted,
      NGTCP2_WRITE_DATAGRAM_FLAG_MORE, 0, pieces.data(), datagram.piece_count(), now);
  if (accepted != 0) {
    datagram_lead_bytes_ =
        std::min<uint64_t>(datagram_lead_bytes_ + datagram.size(), StreamBook::kTurnBytes);
    datagrams_.Pop();
  }
  return bytes;
}

void QuicConnection::AccountSent(QuicStream& stream, uint64_t bytes, bool end) {
  if (stream.unheard_of) {
    stream.unheard_of = false;  // By an empty frame, after which it can be given up.
    ngtcp2_conn_shutdown_stream_write(connection_, 0, stream.number, *stream.reset_code);
    streams_.Changed(stream);
    return;
  }
  streams_.Sent(stream, bytes, end);
  datagram_lead_bytes_ -= std::min(datagram_lead_bytes_, bytes);
  if (bytes == 0) {
    return;
  }
  if (!sent_.empty() && sent_.back().stream == stream.id) {
    sent_.back().bytes += bytes;
  } else {
    sent_.push_back({stream.id, bytes});
  }
}

bool QuicConnection::SettleRefusal(QuicStream& stream, ngtcp2_ssize refusal) {
  switch (refusal) {
    case NGTCP2_ERR_STREAM_DATA_BLOCKED:
      if (ngtcp2_conn_get_max_data_left(connection_) == 0) {
        no_connection_credit_ = true;
      } else {
        stream.starved = true;
        streams_.Changed(stream);
      }
      return true;
    case NGTCP2_ERR_STREAM_SHUT_WR:
    case NGTCP2_ERR_STREAM_NOT_FOUND:
      stream.unheard_of = false;
      GiveUpSending(stream);
      stream.stopped = !stream.reset_code;
      // A stream that goes one way closes right after, and then we know the peer's code.
      if (!moqt::IsUni(stream.id)) {
        stopped_.push_back(stream.id);
      }
      return true;
    default:
      return false;
  }
}

// All of it before the session acts: what it thinks unsent, it may give up.
void QuicConnection::TellSent() {
  while (!sent_.empty() || datagrams_.any_gone()) {
    const std::vector<Sent> told = std::exchange(sent_, {});
    for (const Sent& sent : told) {
      user_->OnBytesSent(sent.stream, sent.bytes);
    }
    for (const auto& [request, count] : datagrams_.TakeGone()) {
      user_->OnDatagramsGone(request, count);
    }
    Drain();
  }
}

void QuicConnection::TellStopped() {
  const std::vector<moqt::StreamId> told = std::move(stopped_);
  stopped_.clear();
  for (const moqt::StreamId id : told) {
    QuicStream* const stream = streams_.Find(id);
    if (stream != nullptr && stream->stopped) {
      stream->stopped = false;
      user_->OnStopSending(id, 0);
      Drain();
    }
  }
}

// When streams are to be looked at next: only if a packet came that may have stopped some.
Instant QuicConnection::probe_due() const {
  if (!heard_ || streams_.two_way().empty()) {
    return Instant::max();
  }
  const auto count = static_cast<int64_t>(streams_.two_way().size());
  return probed_ + std::clamp<Duration>(count * kProbePerStream, kProbeMin, kProbeMax);
}

// ngtcp2 does not say that the peer stopped a stream, but refuses to write to it. Asked to write
// more than any stream can hold, it refuses for that reason if there is no other, and does nothing.
void QuicConnection::NoticeStopped() {
  heard_ = false;
  probed_ = Now();
  const ngtcp2_vec impossible{nullptr, SIZE_MAX};
  for (const auto& [id, stream] : streams_.two_way()) {
    if (!stream->open || stream->send_over || stream->is_new) {
      continue;
    }
    const ngtcp2_ssize refusal = ngtcp2_conn_writev_stream(
        connection_, nullptr, nullptr, nullptr, 0, nullptr, NGTCP2_WRITE_STREAM_FLAG_NONE,
        static_cast<int64_t>(id), &impossible, 1, ToQuic(probed_));
    if (refusal == NGTCP2_ERR_STREAM_SHUT_WR) {
      SettleRefusal(*stream, refusal);
    }
  }
  TellStopped();
}

}  // namespace kvcast
