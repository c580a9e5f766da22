#include "kvcast/host/node_server.h"

#include <chrono>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/host/version.h"
#include "kvcast/io/clock.h"

namespace kvcast {

NodeServer::NodeServer(EventLoop& loop, const Options& options, Metrics& metrics, LogSink* log)
    : loop_(&loop),
      options_(options),
      log_(log, "node"),
      refusals_(log_),
      relay_(options.relay, metrics, log),
      timer_(loop, [this] {
        relay_.OnTimeout(Now());
        PokeTouched(nullptr);
      }) {}

NodeServer::~NodeServer() = default;

Result<std::unique_ptr<NodeServer>> NodeServer::Start(EventLoop& loop, const Options& options,
                                                      const ServerCredentials& credentials,
                                                      Metrics& metrics, LogSink* log) {
  std::unique_ptr<NodeServer> node(new NodeServer(loop, options, metrics, log));
  NodeServer* const self = node.get();
  QuicServer::Options quic = options.quic;
  if (!quic.secret) {
    // The node's own, not that of all who share a certificate: none may end another's connections.
    quic.secret = credentials.SecretFor("stateless answers of node " + ToHex(options.relay.node));
  }
  quic.on_untrusted = [self](const SocketAddress& from, const std::string& reason) {
    self->refusals_.Note(from.ToString(), reason, Now());
  };
  KVCAST_TRY(node->quic_, QuicServer::Listen(loop, options.listen, credentials, quic,
                                             [self](QuicConnection& connection) {
                                               return self->Accept(connection);
                                             }));
  return node;
}

std::unique_ptr<moqt::TransportUser> NodeServer::Accept(QuicConnection& connection) {
  moqt::Setup setup;
  setup.implementation = "kvcast/" + Version();
  NodePeerOwner& owner = *this;
  auto peer = std::make_unique<NodePeer>(*loop_, connection, setup, options_.session, owner);
  peer->id = relay_.Join(peer->session());
  peers_[peer->id] = peer.get();
  log_.Info("peer joined", {{"peer", peer->id}, {"from", connection.remote().ToString()}});
  if (leaving_) {
    peer->session().Close(moqt::SessionCode::kNoError, "This node is leaving.");
  }
  return peer;
}

void NodeServer::OnInput(NodePeer& peer) {
  relay_.OnInput(peer.id, Now());
  PokeTouched(&peer);
}

void NodeServer::OnGone(NodePeer& peer) {
  peers_.erase(peer.id);
  relay_.Leave(peer.id);
  log_.Info("peer left", {{"peer", peer.id}});
  PokeTouched(nullptr);
}

void NodeServer::PokeTouched(const NodePeer* asking) {
  for (const relay::PeerId id : relay_.TakeTouched()) {
    const auto peer = peers_.find(id);
    if (peer != peers_.end() && peer->second != asking) {
      peer->second->connection().Poke();
    }
  }
  if (const std::optional<Instant> deadline = relay_.deadline()) {
    timer_.Set(*deadline);
  } else {
    timer_.Stop();
  }
}

void NodeServer::SayGoodbye(Duration until_leaving) {
  leaving_ = true;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(until_leaving).count();
  for (const auto& [id, peer] : peers_) {
    (void)peer->session().SendGoAway("", static_cast<uint64_t>(ms)).ok();
    peer->connection().Poke();
  }
}

void NodeServer::Close() {
  leaving_ = true;
  for (const auto& [id, peer] : peers_) {
    peer->session().Close(moqt::SessionCode::kNoError, "This node has left.");
    peer->connection().Poke();
  }
}

}  // namespace kvcast
