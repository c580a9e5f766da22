#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/datagram_queue.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/qlog_file.h"
#include "kvcast/io/quic_options.h"
#include "kvcast/io/quic_port.h"
#include "kvcast/io/quic_tls.h"
#include "kvcast/io/receive_window.h"
#include "kvcast/io/stateless_answers.h"
#include "kvcast/io/stream_allowance.h"
#include "kvcast/io/stream_book.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

class QuicConnection;

// How long the ids are that we give out, by which servers tell connections apart.
inline constexpr size_t kConnectionIdBytes = 8;

// Whoever finds a connection's packets for it, by the ids that stand in them.
class QuicConnectionOwner {
 public:
  virtual ~QuicConnectionOwner() = default;
  virtual void OnIdIssued(QuicConnection& connection, const ngtcp2_cid& id) = 0;
  virtual void OnIdRetired(const ngtcp2_cid& id) = 0;
  // The handshake is over, so the peer is who it says and speaks our protocol.
  virtual void OnReady(QuicConnection& connection) = 0;
  // We turn the peer away, for its certificate or for want of one.
  virtual void OnUntrusted(QuicConnection& connection, const std::string& reason) = 0;
  // It will never send again, and may be destroyed, but not from within this call.
  virtual void OnGone(QuicConnection& connection) = 0;
};

// One QUIC connection that carries one session: it tells the session what arrives, does what the
// session asks for, and sends what is most urgent first, straight from the session's memory.
//
// The session is told everything on the loop's thread. It acts only when asked, so after changing
// it from elsewhere call Poke(). Streams of the peer's answer as requests do: before data.
//
// What is not told as precisely as it might be, for want of word from ngtcp2 1.11: that a peer
// wants no more of a stream that goes both ways (STOP_SENDING) is noticed up to a second later, or
// before the peer's next such stream; and the session hears the code 0 instead of the peer's.
class QuicConnection {
 public:
  // Makes the session, once there is a connection for it; called at most once.
  using MakeUser = std::function<std::unique_ptr<moqt::TransportUser>(QuicConnection&)>;

  struct Setup {
    QuicPort* port = nullptr;              // Outlives the connection,
    QuicConnectionOwner* owner = nullptr;  // as this does.
    QuicOptions options;
    UdpPath path;
    Digest secret;  // By which peers know that word of a lost connection is ours.
    PortShare share{};
    std::unique_ptr<QuicTls> tls;
    MakeUser make_user;
  };
  // What the client's first packet says, for a server's side of the connection.
  struct FirstPacket {
    ngtcp2_cid destination;
    ngtcp2_cid source;
    uint32_t version;
    // The destination it had before it was told to come again, and the token with which it came.
    std::optional<ngtcp2_cid> before_retry;
    std::span<const uint8_t> token;
  };
  // The session is made when the handshake is over; a client's at once, if it offers one protocol
  // only. A client's is told if nothing comes of it.
  static Result<std::unique_ptr<QuicConnection>> Connect(Setup setup);
  static Result<std::unique_ptr<QuicConnection>> Accept(Setup setup, const FirstPacket& first);
  ~QuicConnection();
  QuicConnection(const QuicConnection&) = delete;
  QuicConnection& operator=(const QuicConnection&) = delete;

  // Asks the session for what it wants done, in the loop's next turn.
  void Poke();
  // Closes as if the session had asked for it.
  void Close(uint64_t code, std::string reason);
  // Changes the keys of both directions, as happens by itself after many packets. False: not yet.
  bool UpdateKeys();

  bool ready() const { return ready_; }
  bool closed() const { return phase_ != Phase::kOpen; }
  const SocketAddress& remote() const { return path_.remote; }
  std::optional<std::string> peer_certificate() const { return tls_->PeerCertificate(); }
  // What both ends agreed to speak, once the handshake is over; what a client offers first, before.
  const std::string& alpn() const { return alpn_; }
  // Null before there is a session, see above, and never after.
  moqt::TransportUser* user() { return user_.get(); }
  // The id that the client's first packet was addressed to: traces on both sides go by it.
  ngtcp2_cid first_id() const { return *ngtcp2_conn_get_client_initial_dcid(connection_); }
  bool all_delivered() const { return streams_.AllDelivered(); }  // And acknowledged, so far.
  size_t datagram_bytes() const;  // The largest that this path was found to carry.
  uint64_t key_updates() const { return key_updates_; }  // By either side.

  // For the owner alone: a datagram for this connection, and then, after some of them, the answer.
  void Receive(const UdpPath& path, std::span<const std::byte> datagram);
  void Flush();
  // The peer's machine says that nobody listens there.
  void OnRefused();
  // Ids by which the peer may address it at first.
  std::vector<ngtcp2_cid> Ids() const;

 private:
  friend struct QuicCallbacks;
  enum class Phase : uint8_t {
    kOpen,
    kClosing,   // We said so; packets that still come are told again.
    kDraining,  // The peer said so, or is silent: nothing is sent any more.
    kGone,
  };
  struct Sent {
    moqt::StreamId stream;
    uint64_t bytes;
  };
  struct Dead {
    moqt::StreamId stream;
    std::optional<uint64_t> code;  // The first one that either side gave.
  };

  explicit QuicConnection(Setup setup);
  Result<void> Start(const FirstPacket* first);
  void StartLog(ngtcp2_settings& settings, const ngtcp2_cid& id, const char* end);
  void SetKeepAlive(Duration every);

  // From ngtcp2, within Receive().
  int OnHandshakeCompleted();
  int OnStreamOpened(int64_t id);
  int OnStreamData(int64_t id, std::span<const std::byte> bytes, bool fin);
  int OnStreamReset(int64_t id, uint64_t code);
  int OnAcknowledged(int64_t id, uint64_t offset);
  int OnStreamClosed(int64_t id, std::optional<uint64_t> code);
  int OnMoreStreamCredit(int64_t id);
  int OnDatagramFrame(std::span<const std::byte> bytes);
  int OnMoreStreams(uint64_t bidi_total);
  int OnIdWanted(ngtcp2_cid* id, uint8_t* reset_token, size_t bytes);

  // To and from the session.
  void Drain();
  void Do(moqt::OpenStream& action);
  void Do(moqt::SendBytes& action);
  void Do(moqt::ResetStream& action);
  void Do(moqt::StopSending& action);
  void Do(moqt::StreamCredit& action);
  void Do(moqt::ConnectionCredit& action);
  // By how much a window grows of which so much was taken.
  uint64_t GrowthOf(ReceiveWindow& window, uint64_t taken, uint64_t most = UINT64_MAX) const;
  void Do(moqt::SendDatagram& action);
  void Do(moqt::ReorderStream& action);
  void Do(moqt::CloseConnection& action);
  void TellSent();
  void TellStopped();
  Instant probe_due() const;
  void NoticeStopped();
  void HandOverNew();
  void HandOver(QuicStream& stream);
  void BuryStreams();
  void LetOpenMore();

  // Sending.
  void OpenStreams();
  void OpenTwoWay();
  void GiveUpSending(QuicStream& stream);
  void WritePackets();
  enum class Round : uint8_t { kMore, kIdle, kHeldBack, kFailed };
  Round WriteBatch();
  // The size of a packet written to `room`, 0 if there is none to write now, or an error.
  ngtcp2_ssize WritePacket(std::span<uint8_t> room, ngtcp2_path_storage& path, ngtcp2_tstamp now);
  // The same with the next DATAGRAM frame, to which others may be added.
  ngtcp2_ssize WriteDatagram(std::span<uint8_t> room, ngtcp2_path_storage& path, ngtcp2_tstamp now);
  bool DatagramIsNext() const;
  bool HasNews() const { return streams_.Next() != nullptr || !datagrams_.empty(); }
  void AccountSent(QuicStream& stream, uint64_t bytes, bool end);
  // Takes note why a stream cannot send; false if the trouble is the whole connection's.
  bool SettleRefusal(QuicStream& stream, ngtcp2_ssize refusal);
  bool AddPacket(const UdpPath& path, size_t bytes);

  // Time and the end.
  void OnTimer();
  void SetTimer();
  void CarryOutClose();
  bool CloseMustWait();
  void Fail(int library_error);
  void SayClosing(const ngtcp2_ccerr& error);
  void SendFarewell();
  void OnPeerClosed();
  void End(Phase phase, Duration linger, uint64_t code, std::string_view reason);
  bool can_send(moqt::StreamId id) const;
  bool can_receive(moqt::StreamId id) const;
  bool is_ours(moqt::StreamId id) const;

  QuicPort* port_;
  QuicConnectionOwner* owner_;
  QuicOptions options_;
  std::string alpn_;
  UdpPath path_;         // As it began: QUIC follows a peer that moves,
  UdpPath proven_path_;  // and this is where it was last known to be.
  StatelessAnswers answers_;
  PortShare share_;
  std::unique_ptr<QlogFile> qlog_;  // Outlives connection_, which has a last word,
  std::unique_ptr<QuicTls> tls_;    // and so does this, as ngtcp2 asks.
  MakeUser make_user_;
  std::unique_ptr<moqt::TransportUser> user_;
  ngtcp2_conn* connection_ = nullptr;
  LoopTimer timer_;
  Phase phase_ = Phase::kOpen;
  bool ready_ = false;
  bool more_to_write_ = false;
  bool heard_ = false;  // Something came since `probed_`, when streams were last looked at.
  Instant probed_{};
  bool no_connection_credit_ = false;  // The peer grants no bytes on any stream.
  bool reset_by_peer_ = false;         // It has said that it knows of no such connection.
  int refusals_ = 0;                   // In a row, by the peer's machine.
  uint64_t key_updates_ = 0;
  std::vector<uint16_t> probe_bytes_;  // Sizes of datagrams to try.
  StreamBook streams_;
  DatagramQueue datagrams_;
  ReceiveWindow window_;              // Of all streams together.
  uint64_t datagram_lead_bytes_ = 0;  // Beyond what streams sent meanwhile: the urgent take turns.
  uint64_t growth_left_;              // By which windows of streams may grow.
  std::deque<moqt::StreamId> waiting_bidi_;  // Streams that QUIC has yet to open.
  StreamAllowance allowance_;
  std::vector<moqt::StreamId> new_streams_;  // The peer's, whose first bytes wait, see HandOver().
  std::vector<Dead> dead_;   // Streams that QUIC has closed, of which the session may not know.
  size_t peer_unis_ = 0;     // One-way streams of the peer's that are there,
  size_t streams_owed_ = 0;  // and that are over, in whose place it may not open others.
  std::vector<Sent> sent_;   // What the session has yet to hear: bytes that left,
  std::vector<moqt::StreamId> stopped_;  // and streams that the peer wants no more of.
  std::optional<moqt::CloseConnection> close_;
  Instant close_by_ = Instant::max();  // If it waits for a path.
  std::vector<uint8_t> farewell_;      // The packet that says so,
  UdpPath farewell_path_;              // and the way it goes.
  uint64_t packets_after_end_ = 0;
};

}  // namespace kvcast
