#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {

// Objects by their places, and "?" with the end of what is unknown.
inline std::string PlacesOf(const Brought& brought) {
  std::string places;
  for (const moqt::FetchItem& item : brought.items) {
    const auto* end = std::get_if<moqt::RangeEnd>(&item);
    const Location at = end != nullptr ? end->last : std::get<Object>(item).location;
    places += (places.empty() ? "" : " ") + std::string(end != nullptr ? "?" : "") +
              std::to_string(at.group) + "." +
              (at.object == kWhole ? "*" : std::to_string(at.object));
  }
  return places;
}

// Several nodes, some of which have opened sessions to others, and their clients.
class Levels {
 public:
  // A session of one node to another.
  struct Link {
    Link(Relay& below_relay, Relay& above_relay, size_t upstream, uint64_t seed,
         const RelayWorld::Options& options)
        : below(&below_relay),
          above(&above_relay),
          client(moqt::Role::kClient, Setup(), options.session, Instant()),
          server(moqt::Role::kServer, {}, options.session, Instant()),
          connection(Seeded(options.connection, seed), client, server),
          client_peer(below_relay.JoinUpstream(client, upstream)),
          server_peer(above_relay.Join(server)) {}
    ~Link() {
      below->Leave(client_peer);
      above->Leave(server_peer);
    }
    static moqt::Setup Setup() {
      moqt::Setup setup;
      setup.path = "/";
      setup.authority = "node.example";
      return setup;
    }
    static moqt::MemoryConnection::Options Seeded(moqt::MemoryConnection::Options options,
                                                  uint64_t seed) {
      options.seed = seed;
      return options;
    }

    Relay* below;
    Relay* above;
    Session client;
    Session server;
    moqt::MemoryConnection connection;
    PeerId client_peer;
    PeerId server_peer;
    bool stalled = false;  // Nothing moves on it.
  };
  struct Node {
    Node(const Relay::Options& options, size_t number) : name(number), relay(options, metrics) {}
    size_t name;
    Metrics metrics;
    Relay relay;

    uint64_t Count(const std::string& metric) { return metrics.counter(metric, "").value(); }
  };

  explicit Levels(const RelayWorld::Options& options = {}) : options_(options), random_(7) {}

  // Without prefixes it is asked for everything.
  Node& AddNode(const std::vector<std::vector<TrackNamespace>>& upstreams = {},
                std::optional<size_t> ram_bytes = std::nullopt) {
    Relay::Options relay = options_.relay;
    relay.ram_bytes = ram_bytes.value_or(relay.ram_bytes);
    relay.limits.node_queue_bytes = size_t{64} << 20;  // However little it keeps.
    relay.node.fill(static_cast<std::byte>(nodes_.size() + 1));
    relay.secret = nodes_.size() + 1;
    for (const std::vector<TrackNamespace>& prefixes : upstreams) {
      relay.upstreams.push_back(
          {"upstream", prefixes.empty() ? std::vector{TrackNamespace()} : prefixes});
    }
    return AddNodeWith(relay);
  }
  Node& AddNodeWith(const Relay::Options& relay) {
    nodes_.push_back(std::make_unique<Node>(relay, nodes_.size()));
    return *nodes_.back();
  }
  Link& Connect(Node& below, Node& above, size_t upstream = 0) {
    links_.push_back(
        std::make_unique<Link>(below.relay, above.relay, upstream, random_.Next(), options_));
    links_.back()->client.OnTime(now_);
    links_.back()->server.OnTime(now_);
    Run();
    return *links_.back();
  }
  void Disconnect(Link& link) {
    std::erase_if(links_, [&](const auto& each) { return each.get() == &link; });
    Run();
  }
  Client& Join(Node& node) {
    moqt::MemoryConnection::Options connection = options_.connection;
    connection.seed = random_.Next();
    clients_.push_back({&node, std::make_unique<Client>(node.relay, connection, options_.session)});
    clients_.back().second->server().OnTime(now_);
    return *clients_.back().second;
  }
  void Leave(const Client& client) {
    std::erase_if(clients_, [&](const auto& each) { return each.second.get() == &client; });
    Run();
  }

  bool Step() {
    bool moved = false;
    for (const auto& link : links_) {
      moved = (!link->stalled && link->connection.Step()) || moved;
      link->below->OnInput(link->client_peer, now_);
      link->above->OnInput(link->server_peer, now_);
    }
    for (const auto& [node, client] : clients_) {
      moved = client->connection().Step() || moved;
      node->relay.OnInput(client->peer(), now_);
    }
    return moved;
  }
  void Run() {
    while (Step()) {
    }
  }
  void Wait(Duration duration) {
    now_ += duration;
    for (const auto& link : links_) {
      link->client.OnTimeout(now_);
      link->server.OnTimeout(now_);
    }
    for (const auto& [node, client] : clients_) {
      client->server().OnTimeout(now_);
    }
    for (const auto& node : nodes_) {
      node->relay.OnTimeout(now_);
    }
    Run();
  }
  Instant now() const { return now_; }

  Brought Fetch(Client& client, const TrackName& track, const LocationRange& range,
                moqt::GroupOrder order = moqt::GroupOrder::kAscending) {
    moqt::Parameters parameters;
    parameters.group_order = order;
    const RequestId request = *client->Fetch(track, range, parameters);
    Brought brought;
    do {
      brought.TakeFrom(client.session(), request);
    } while (Step());
    brought.TakeFrom(client.session(), request);
    return brought;
  }
  // A track with all its groups, published and ended at a node.
  void Publish(Node& node, const TrackName& track, uint64_t groups, uint64_t objects,
               size_t bytes = 100) {
    Client& publisher = Join(node);
    publisher.PublishAll(track, groups, objects, bytes);
    Run();
    Leave(publisher);
  }

 private:
  RelayWorld::Options options_;
  Random random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::pair<Node*, std::unique_ptr<Client>>> clients_;
  Instant now_;
};

}  // namespace kvcast::relay
