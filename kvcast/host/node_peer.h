#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/io/event_loop.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/relay.h"

namespace kvcast {

class NodePeer;

// What a peer's session knows of the connection that carries it.
struct PeerLine {
  static PeerLine Of(QuicConnection& connection);

  std::function<void()> poke;  // Asks the session for what it wants done, soon.
  const moqt::Codec* codec = nullptr;
  std::string from;
  std::optional<std::string> certificate;  // That the peer has shown.
  moqt::SessionShare share;                // Where other sessions are on it.
};

// Who looks after a node's peers.
class NodePeerOwner {
 public:
  virtual ~NodePeerOwner() = default;
  // The peer's session has events, or room: let the relay look, now.
  virtual void OnInput(NodePeer& peer) = 0;
  virtual void OnGone(NodePeer& peer) = 0;
};

// A peer of a node: its session, between the connection that carries it and the relay that decides.
// Belongs to the connection, or to who stands in for it.
class NodePeer final : public moqt::TransportUser {
 public:
  NodePeer(EventLoop& loop, PeerLine line, moqt::Role role, const moqt::Setup& setup,
           const moqt::Limits& limits, NodePeerOwner& owner);
  ~NodePeer() override;

  moqt::Session& session() { return session_; }
  const PeerLine& line() const { return line_; }
  void Poke() { line_.poke(); }
  // Why the connection is over, once it is.
  const std::string& last_words() const { return last_words_; }
  relay::PeerId id = 0;
  bool is_guest = false;  // Its connection is another shard's.

  void OnTime(Instant now) override { session_.OnTime(now); }
  bool MayOpenMore() const override { return session_.MayOpenMore(); }
  void OnStreamsUsedUp() override {
    session_.OnStreamsUsedUp();
    SetTimer();
  }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override;
  void OnStopSending(moqt::StreamId stream, uint64_t code) override;
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override;
  void OnDelivered(moqt::StreamId stream) override;
  void OnDatagramsGone(uint64_t request, uint64_t count) override;
  void OnDatagram(std::span<const std::byte> bytes) override;
  void OnStreamsAllowed(uint64_t bidi_total) override;
  void OnConnectionClosed(uint64_t code, std::string_view reason) override;
  std::optional<moqt::TransportAction> NextAction() override;

 private:
  void SetTimer();

  PeerLine line_;
  moqt::Session session_;
  NodePeerOwner* owner_;
  LoopTimer timer_;
  std::optional<Instant> timer_at_;  // What it is set to.
  std::string last_words_;
  bool has_more_room_ = false;  // Of which the relay has not heard.
};

}  // namespace kvcast
