#include "kvcast/host/node_peer.h"

#include <utility>

#include "kvcast/engine/agreed_codec.h"
#include "kvcast/io/clock.h"

namespace kvcast {

PeerLine PeerLine::Of(QuicConnection& connection) {
  return {[&connection] { connection.Poke(); },
          &AgreedCodec(connection),
          connection.remote().ToString(),
          connection.peer_certificate(),
          {}};
}

NodePeer::NodePeer(EventLoop& loop, PeerLine line, moqt::Role role, const moqt::Setup& setup,
                   const moqt::Limits& limits, NodePeerOwner& owner)
    : line_(std::move(line)),
      session_(role, setup, limits, Now(), *line_.codec, line_.share),
      owner_(&owner),
      timer_(loop, [this] {
        timer_at_.reset();
        session_.OnTimeout(Now());
        Poke();
      }) {
  SetTimer();
}

NodePeer::~NodePeer() { owner_->OnGone(*this); }

void NodePeer::OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) {
  session_.OnStreamData(stream, bytes, fin);
}

void NodePeer::SetTimer() {
  const std::optional<Instant> deadline = session_.deadline();
  if (deadline == timer_at_) {
    return;
  }
  timer_at_ = deadline;
  if (deadline) {
    timer_.Set(*deadline);
  } else {
    timer_.Stop();
  }
}

void NodePeer::OnStreamReset(moqt::StreamId stream, uint64_t code) {
  session_.OnStreamReset(stream, code);
}

void NodePeer::OnStopSending(moqt::StreamId stream, uint64_t code) {
  session_.OnStopSending(stream, code);
  has_more_room_ = true;
}

void NodePeer::OnBytesSent(moqt::StreamId stream, uint64_t bytes) {
  session_.OnBytesSent(stream, bytes);
  has_more_room_ = true;
}

void NodePeer::OnDelivered(moqt::StreamId stream) { session_.OnDelivered(stream); }

void NodePeer::OnDatagramsGone(uint64_t request, uint64_t count) {
  session_.OnDatagramsGone(request, count);
  has_more_room_ = true;
}

void NodePeer::OnDatagram(std::span<const std::byte> bytes) { session_.OnDatagram(bytes); }

void NodePeer::OnStreamsAllowed(uint64_t bidi_total) {
  session_.OnStreamsAllowed(bidi_total);
  has_more_room_ = true;
}

// Nobody asks for actions any more, so the relay hears of it at once.
void NodePeer::OnConnectionClosed(uint64_t code, std::string_view reason) {
  session_.OnConnectionClosed(code, reason);
  last_words_ = reason;
  timer_.Stop();
  owner_->OnInput(*this);
}

// Asked after every input until there is nothing left: the moment for the relay to look. It looks
// when something has happened, not at every packet.
std::optional<moqt::TransportAction> NodePeer::NextAction() {
  std::optional<moqt::TransportAction> action = session_.NextAction();
  if (!action && (session_.has_event() || std::exchange(has_more_room_, false))) {
    owner_->OnInput(*this);
    action = session_.NextAction();
  }
  if (!action) {
    SetTimer();
  }
  return action;
}

}  // namespace kvcast
