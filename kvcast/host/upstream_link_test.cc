// Nodes that ask each other, over real QUIC on loopback.
#include "kvcast/host/upstream_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/metrics.h"
#include "kvcast/host/node_gauges.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/node_status.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/loop_until_test.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr Duration kLevelPatience = std::chrono::seconds(60);  // Only so as not to hang.

TrackName CachedTrack() {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", "p", "generation"}), "t");
}

struct LevelNode {
  ScratchDirectory scratch = *ScratchDirectory::Make();
  ServerCredentials credentials = *ServerCredentials::Development(scratch.path());
  Metrics metrics;
  LogMemory log;
  std::unique_ptr<NodeServer> server;

  uint64_t Count(const std::string& name) { return metrics.counter(name, "").value(); }
};

// A session of somebody who publishes or fetches.
class LevelClient {
 public:
  LevelClient(EventLoop& loop, const LevelNode& node)
      : quic_(*QuicClient::Connect(
            loop, {node.server->local(), "localhost"},
            *ClientCredentials::Make(PinnedCertificate{node.credentials.fingerprint()}), {},
            [this](QuicConnection&) {
              moqt::Setup setup;
              setup.path = "/";
              setup.authority = "localhost";
              auto session = std::make_unique<moqt::Session>(moqt::Role::kClient, setup,
                                                             moqt::Limits{}, Now());
              session_ = session.get();
              return session;
            })) {}

  moqt::Session* operator->() { return session_; }
  void Poke() { quic_->connection().Poke(); }
  // Whether a fetch has brought so many objects by now.
  bool Brought(moqt::RequestId request, size_t objects) {
    while (session_->NextEvent()) {
    }
    while (const std::optional<moqt::Received> item = session_->Take(request)) {
      count_[request] +=
          std::holds_alternative<moqt::ReceivedObject>(*item) ? size_t{1} : size_t{0};
    }
    Poke();
    return count_[request] >= objects;
  }

 private:
  moqt::Session* session_ = nullptr;
  std::map<moqt::RequestId, size_t> count_;
  std::unique_ptr<QuicClient> quic_;
};

class UpstreamLinks : public testing::Test {
 protected:
  std::unique_ptr<LevelNode> StartNode(const std::vector<NodeAddress>& upstreams,
                                       const SocketAddress& listen = SocketAddress::Loopback(0)) {
    auto node = std::make_unique<LevelNode>();
    NodeServer::Options options;
    options.listen = listen;
    options.relay.ram_bytes = size_t{64} << 20;
    options.relay.node.fill(static_cast<std::byte>(++nodes_));
    options.relay.secret = nodes_;
    for (const NodeAddress& address : upstreams) {
      UpstreamLink::Options upstream;
      upstream.name = address.host_and_port;
      upstream.address = address;
      upstream.prefixes = {TrackNamespace()};
      upstream.first_pause = std::chrono::milliseconds(20);
      upstream.longest_pause = std::chrono::milliseconds(100);
      options.upstreams.push_back(std::move(upstream));
    }
    node->server =
        *NodeServer::Start(*loop_, options, node->credentials, node->metrics, &node->log);
    return node;
  }
  // A node that shows the same certificate as another, as one that takes its place does.
  std::unique_ptr<LevelNode> StartTwin(const LevelNode& of) {
    auto node = std::make_unique<LevelNode>();
    node->credentials = of.credentials;
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = size_t{64} << 20;
    options.relay.node.fill(static_cast<std::byte>(++nodes_));
    node->server =
        *NodeServer::Start(*loop_, options, node->credentials, node->metrics, &node->log);
    return node;
  }
  static NodeAddress AddressOf(const LevelNode& node) {
    return {node.server->local().ToString(), PinnedCertificate{node.credentials.fingerprint()}};
  }
  void AwaitUpstream(const LevelNode& node) {
    ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                          [&] { return node.server->upstreams().front()->connected(); }));
  }
  void Publish(LevelNode& node, size_t objects) {
    LevelClient publisher(*loop_, node);
    const moqt::RequestId request = *publisher->Publish(CachedTrack(), {}, {});
    moqt::SubgroupHeader header;
    header.end_of_group = true;
    header.first_object = true;
    const moqt::StreamId stream = *publisher->OpenSubgroup(request, header);
    for (size_t i = 0; i < objects; ++i) {
      Object object;
      object.location = {0, i};
      object.payload = Bytes::Of(std::string(1000, 'x'));
      ASSERT_TRUE(publisher->SendObject(request, stream, object).ok());
    }
    ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
    ASSERT_TRUE(publisher->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    publisher.Poke();
    ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] {
      return node.Count("kvcast_relay_received_objects_total") == objects;
    }));
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Make();
  uint64_t nodes_ = 0;
};

// A thousand misses of one object by a few sessions: one fetch on each of three levels.
TEST_F(UpstreamLinks, AThousandMissesAreOneFetchPerLevel) {
  const auto origin = StartNode({});
  const auto middle = StartNode({AddressOf(*origin)});
  const auto edge = StartNode({AddressOf(*middle)});
  AwaitUpstream(*middle);
  AwaitUpstream(*edge);
  Publish(*origin, 1);
  std::vector<std::unique_ptr<LevelClient>> clients;
  std::vector<std::pair<LevelClient*, moqt::RequestId>> fetches;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<LevelClient>(*loop_, *edge));
    for (size_t j = 0; j < 250; ++j) {
      fetches.emplace_back(clients.back().get(),
                           *(*clients.back())->Fetch(CachedTrack(), {{0, 0}, {0, 0}}, {}));
    }
    clients.back()->Poke();
  }
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] {
    std::erase_if(fetches, [](auto& fetch) { return fetch.first->Brought(fetch.second, 1); });
    return fetches.empty();
  }));
  EXPECT_EQ(edge->Count("kvcast_upstream_fetches_total"), 1u);
  EXPECT_EQ(middle->Count("kvcast_upstream_fetches_total"), 1u);
  EXPECT_EQ(origin->Count("kvcast_relay_fetches_total"), 1u);
  EXPECT_EQ(origin->Count("kvcast_relay_sent_objects_total"), 1u);
}

// Serving does not wait for an upstream, and one that comes back is asked again.
TEST_F(UpstreamLinks, AreOpenedAgainForEver) {
  auto origin = StartNode({});
  const NodeAddress address = AddressOf(*origin);
  const SocketAddress place = origin->server->local();
  const auto edge = StartNode({address});
  AwaitUpstream(*edge);
  Publish(*edge, 2);
  origin->server->Close();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return !edge->server->upstreams().front()->connected(); }));
  LevelClient client(*loop_, *edge);
  const moqt::RequestId request = *client->Fetch(CachedTrack(), LocationRange::Groups(0, 0), {});
  client.Poke();
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return client.Brought(request, 2); }));
  origin->server.reset();
  // Another start of the same node, with the certificate it had.
  NodeServer::Options options;
  options.listen = place;
  options.relay.ram_bytes = size_t{64} << 20;
  origin->server =
      *NodeServer::Start(*loop_, options, origin->credentials, origin->metrics, &origin->log);
  AwaitUpstream(*edge);
}

TEST_F(UpstreamLinks, HaveNewLimitsFromTheNextSessionOn) {
  auto origin = StartNode({});
  const SocketAddress place = origin->server->local();
  const auto edge = StartNode({AddressOf(*origin)});
  AwaitUpstream(*edge);
  moqt::Limits limits;
  limits.object_bytes_max = 12'345;
  edge->server->Renew(edge->credentials, edge->server->relay().limits(), limits, {});
  origin->server->Close();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return !edge->server->upstreams().front()->connected(); }));
  origin->server.reset();
  NodeServer::Options options;
  options.listen = place;
  options.relay.ram_bytes = size_t{64} << 20;
  origin->server =
      *NodeServer::Start(*loop_, options, origin->credentials, origin->metrics, &origin->log);
  AwaitUpstream(*edge);
  const auto& peers = edge->server->peers();
  EXPECT_TRUE(std::ranges::any_of(peers, [](const auto& peer) {
    return peer.second->session().limits().object_bytes_max == 12'345;
  }));
}

TEST_F(UpstreamLinks, TellWhetherTheyStandAndHowOftenTheyWereOpened) {
  auto origin = StartNode({});
  const NodeAddress address = AddressOf(*origin);
  const auto edge = StartNode({address});
  const auto told = [&] {
    NodeGauges(edge->metrics).ShowShard(*edge->server);
    Json status = NodeStatus(*edge->server, {}, true)["upstreams"][0];
    const Labels of{{"upstream", address.host_and_port}};
    EXPECT_EQ(status["upstream"], address.host_and_port);
    EXPECT_EQ(status["connected"].get<bool>() ? 1 : 0,
              edge->metrics.Value("kvcast_upstream_connected", of));
    EXPECT_EQ(status["connections"].get<double>(),
              edge->metrics.Value("kvcast_upstream_connections_total", of));
    return std::pair(status["connected"].get<bool>(), status["connections"].get<uint64_t>());
  };
  EXPECT_EQ(told(), std::pair(false, uint64_t{0}));
  AwaitUpstream(*edge);
  EXPECT_EQ(told(), std::pair(true, uint64_t{1}));
  origin->server->Close();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return !edge->server->upstreams().front()->connected(); }));
  EXPECT_EQ(told(), std::pair(false, uint64_t{1}));
}

// An upstream that sends whoever comes somewhere else.
class SendingAway {
 public:
  SendingAway(EventLoop& loop, const LevelNode& like, std::string uri)
      : uri_(std::move(uri)),
        quic_(*QuicServer::Listen(loop, SocketAddress::Loopback(0), like.credentials, {},
                                  [this](QuicConnection&) {
                                    auto session = std::make_unique<moqt::Session>(
                                        moqt::Role::kServer, moqt::Setup(), moqt::Limits{}, Now());
                                    (void)session->SendGoAway(uri_, 0).ok();
                                    ++visits_;
                                    return session;
                                  })) {}

  NodeAddress address(const LevelNode& like) const {
    return {quic_->local().ToString(), PinnedCertificate{like.credentials.fingerprint()}};
  }
  size_t visits() const { return visits_; }

 private:
  std::string uri_;
  size_t visits_ = 0;
  std::unique_ptr<QuicServer> quic_;
};

TEST_F(UpstreamLinks, GoOnWhereTheUpstreamSendsThem) {
  const auto other = StartNode({});
  Publish(*other, 3);
  const SendingAway upstream(*loop_, *other, "moqt://" + other->server->local().ToString() + "/");
  const auto edge = StartNode({upstream.address(*other)});
  const UpstreamLink& link = *edge->server->upstreams().front();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return link.connected() && link.connections() == 2; }));
  LevelClient client(*loop_, *edge);
  const moqt::RequestId request = *client->Fetch(CachedTrack(), LocationRange::Groups(0, 0), {});
  client.Poke();
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return client.Brought(request, 3); }));
  EXPECT_EQ(upstream.visits(), 1u);
  // Nothing was under way at the first: it is left.
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return link.leaving() == 0; }));
  EXPECT_TRUE(link.connected());
}

TEST_F(UpstreamLinks, ComeBackFromWhereTheyWereSentWhenThatIsLost) {
  const auto other = StartNode({});
  const SendingAway upstream(*loop_, *other, "moqt://" + other->server->local().ToString() + "/");
  const auto edge = StartNode({upstream.address(*other)});
  const UpstreamLink& link = *edge->server->upstreams().front();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return link.connected() && link.connections() == 2; }));
  other->server->Close();
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return upstream.visits() >= 2; }));
}

// A node that drains: what is asked from now on is asked of the next one at its address.
TEST_F(UpstreamLinks, GoOnAtTheNextAddressOfOneThatLeaves) {
  const auto first = StartNode({});
  const auto second = StartTwin(*first);
  Publish(*second, 3);
  NodeAddress address = AddressOf(*first);
  address.places = {first->server->local(), second->server->local()};
  const auto edge = StartNode({address});
  const UpstreamLink& link = *edge->server->upstreams().front();
  AwaitUpstream(*edge);
  first->server->SayGoodbye(std::chrono::minutes(1));
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return link.connected() && link.connections() == 2; }));
  LevelClient client(*loop_, *edge);
  const moqt::RequestId request = *client->Fetch(CachedTrack(), LocationRange::Groups(0, 0), {});
  client.Poke();
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return client.Brought(request, 3); }));
  EXPECT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] { return link.leaving() == 0; }));
}

// Two nodes that are told to ask each other: one of them stops.
TEST_F(UpstreamLinks, ARingIsBroken) {
  const auto one = StartNode({});
  const SocketAddress place = one->server->local();
  const NodeAddress address = AddressOf(*one);
  const auto two = StartNode({address});
  AwaitUpstream(*two);
  one->server->Close();
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience,
                        [&] { return !two->server->upstreams().front()->connected(); }));
  one->server.reset();
  NodeServer::Options options;
  options.listen = place;
  options.relay.ram_bytes = size_t{64} << 20;
  options.relay.node.fill(std::byte{9});
  UpstreamLink::Options upstream;
  upstream.name = "two";
  upstream.address = AddressOf(*two);
  upstream.prefixes = {TrackNamespace()};
  options.upstreams = {upstream};
  one->server = *NodeServer::Start(*loop_, options, one->credentials, one->metrics, &one->log);
  ASSERT_TRUE(LoopUntil(*loop_, kLevelPatience, [&] {
    return std::ranges::any_of(one->log.records(), [](const LogRecord& record) {
      return record.event.find("leads back to this node") != std::string::npos;
    });
  }));
  AwaitUpstream(*two);  // The other stays.
}

}  // namespace
}  // namespace kvcast
