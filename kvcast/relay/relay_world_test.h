#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/metrics.h"
#include "kvcast/base/random.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/relay.h"

namespace kvcast::relay {

using moqt::RequestId;
using moqt::Session;

inline TrackName BlockTrack(std::string_view prefix) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", prefix, "generation"}),
                        "BF16");
}
inline TrackNamespace CatalogPrefix() {
  return *TrackNamespace::Of({"service", "tenant/model@0", "catalog"});
}

// What stands at a location of a track, the same for everyone who asks.
inline std::string PayloadAt(const TrackName& track, Location at, size_t bytes) {
  const Digest seed = Sha256::Of(track.Render() + at.ToString());
  Random random(static_cast<uint64_t>(seed.bytes[0]) << 8 | static_cast<uint64_t>(seed.bytes[1]));
  std::string payload(bytes, '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  return payload;
}
inline Digest KeyOf(const TrackName& track, uint64_t group) {
  return Sha256::Of(track.Render() + "/" + std::to_string(group));
}
inline constexpr uint64_t kWhole = LocationRange::kWholeGroup;

inline Object ObjectAt(const TrackName& track, Location at, size_t bytes = 100) {
  Object object;
  object.location = at;
  object.payload = Bytes::Of(PayloadAt(track, at, bytes));
  if (at.object == 0) {
    object.properties = BlockKeyProperties(KeyOf(track, at.group));
  }
  return object;
}

// What a peer has to show: a certificate, and tokens.
struct Papers {
  Credential credential{};
  std::vector<std::string> tokens{};
};

// A peer of the node, and its end of the connection.
class Client {
 public:
  Client(Relay& relay, const moqt::MemoryConnection::Options& options, const moqt::Limits& limits,
         const Papers& papers = {})
      : relay_(&relay),
        session_(moqt::Role::kClient, Setup(papers), limits, Instant()),
        server_(moqt::Role::kServer, {}, limits, Instant()),
        connection_(options, session_, server_),
        peer_(relay.Join(server_, papers.credential)) {}
  ~Client() { relay_->Leave(peer_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Session& session() { return session_; }
  Session* operator->() { return &session_; }
  Session& server() { return server_; }
  moqt::MemoryConnection& connection() { return connection_; }
  PeerId peer() const { return peer_; }

  template <typename T>
  std::vector<T> Take() {
    while (std::optional<moqt::Event> event = session_.NextEvent()) {
      events_.push_back(*std::move(event));
    }
    std::vector<T> taken;
    std::vector<moqt::Event> rest;
    for (moqt::Event& event : events_) {
      if (T* found = std::get_if<T>(&event)) {
        taken.push_back(std::move(*found));
      } else {
        rest.push_back(std::move(event));
      }
    }
    events_ = std::move(rest);
    return taken;
  }
  template <typename T>
  T One() {
    std::vector<T> taken = Take<T>();
    EXPECT_EQ(taken.size(), 1u);
    KVCAST_CHECK(!taken.empty());
    return std::move(taken[0]);
  }

  // A whole group, as publishers of caches send it.
  void SendGroup(RequestId request, const TrackName& track, uint64_t group, uint64_t objects,
                 size_t bytes = 100) {
    const moqt::StreamId stream = OpenGroup(request, group);
    for (uint64_t i = 0; i < objects; ++i) {
      ASSERT_TRUE(session_.SendObject(request, stream, ObjectAt(track, {group, i}, bytes)).ok());
    }
    ASSERT_TRUE(session_.EndSubgroup(request, stream).ok());
  }
  moqt::StreamId OpenGroup(RequestId request, uint64_t group) {
    moqt::SubgroupHeader header;
    header.group = group;
    header.properties = true;
    header.end_of_group = true;
    header.first_object = true;
    return *session_.OpenSubgroup(request, header);
  }
  // Publishes groups [0, groups), and ends the track.
  void PublishAll(const TrackName& track, uint64_t groups, uint64_t objects, size_t bytes = 100) {
    const RequestId request = *session_.Publish(track, {}, {});
    for (uint64_t group = 0; group < groups; ++group) {
      SendGroup(request, track, group, objects, bytes);
    }
    ASSERT_TRUE(session_.EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
  }

 private:
  static moqt::Setup Setup(const Papers& papers) {
    moqt::Setup setup;
    setup.path = "/";
    setup.authority = "node.example";
    for (const std::string& token : papers.tokens) {
      setup.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, token});
    }
    return setup;
  }

  Relay* relay_;
  Session session_;
  Session server_;
  moqt::MemoryConnection connection_;
  PeerId peer_;
  std::vector<moqt::Event> events_;
};

// What a fetch or a subscription has brought.
struct Brought {
  std::vector<Object> objects;
  std::vector<moqt::FetchItem> items;
  std::vector<moqt::SubgroupEnd> subgroups;
  std::optional<moqt::FetchEnd> fetch_end;
  std::optional<moqt::TrackEnd> track_end;

  void TakeFrom(Session& session, RequestId request) {
    while (std::optional<moqt::Received> item = session.Take(request)) {
      if (auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
        objects.push_back(object->object);
        items.emplace_back(object->object);
      } else if (auto* range = std::get_if<moqt::RangeEnd>(&*item)) {
        items.emplace_back(*range);
      } else if (auto* subgroup = std::get_if<moqt::SubgroupEnd>(&*item)) {
        subgroups.push_back(*subgroup);
      } else if (auto* end = std::get_if<moqt::FetchEnd>(&*item)) {
        fetch_end = *end;
      } else {
        track_end = std::get<moqt::TrackEnd>(*item);
      }
    }
  }
};

// A node and its peers, on connections made of memory.
class RelayWorld {
 public:
  struct Options {
    uint64_t seed = 0;
    moqt::MemoryConnection::Options connection;
    moqt::Limits session;
    Relay::Options relay;
  };

  explicit RelayWorld(const Options& options)
      : options_(options), random_(options.seed), relay_(options.relay, metrics_) {}
  RelayWorld() : RelayWorld(Options()) {}

  Client& Join(const Papers& papers = {}) {
    moqt::MemoryConnection::Options connection = options_.connection;
    connection.seed = random_.Next();
    clients_.push_back(std::make_unique<Client>(relay_, connection, options_.session, papers));
    clients_.back()->server().OnTime(now_);
    return *clients_.back();
  }
  void Leave(const Client& client) {
    std::erase_if(clients_, [&](const auto& entry) { return entry.get() == &client; });
  }

  Relay& relay() { return relay_; }
  Metrics& metrics() { return metrics_; }
  Random& random() { return random_; }
  Instant now() const { return now_; }

  // Moves one piece of something on some connection; false if nothing moves.
  bool Step() {
    const size_t first = clients_.empty() ? 0 : random_.Below(clients_.size());
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client& client = *clients_[(first + i) % clients_.size()];
      const bool moved = client.connection().Step();
      relay_.OnInput(client.peer(), now_);
      if (moved) {
        return true;
      }
    }
    return false;
  }
  void Run() {
    while (Step()) {
    }
  }
  void Wait(Duration duration) {
    now_ += duration;
    for (const auto& client : clients_) {
      client->server().OnTimeout(now_);
      relay_.OnInput(client->peer(), now_);
    }
    relay_.OnTimeout(now_);
  }

  // Asks, waits, and takes all.
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

 private:
  Options options_;
  Random random_;
  Metrics metrics_;
  Relay relay_;
  std::vector<std::unique_ptr<Client>> clients_;
  Instant now_;
};

// Follows the catalogs below a prefix, as a client does: by subscription, and a fetch of what was
// there before.
class CatalogFollower {
 public:
  explicit CatalogFollower(Client& client)
      : client_(&client), tracks_(*client->SubscribeTracks(CatalogPrefix(), {})) {}

  // Call it after steps.
  void Follow() {
    Session& session = client_->session();
    for (const auto& event : client_->Take<moqt::PublishReceived>()) {
      publications_.push_back(event.request);
      KVCAST_CHECK(session.AcceptPublish(event.request, {}).ok());
      const Location largest = event.parameters.largest_object.value();
      fetches_.push_back(*session.Fetch(event.track, {{largest.group, 0}, largest}, {}));
    }
    for (const std::vector<RequestId>* requests : {&publications_, &fetches_}) {
      for (const RequestId request : *requests) {
        Brought brought;
        brought.TakeFrom(session, request);
        for (const Object& object : brought.objects) {
          objects_.emplace(object.location, object.payload);
        }
      }
    }
  }

  // What the catalog says in the end: the newest epoch from its start.
  Holdings Known() const {
    Holdings known;
    CatalogReader reader;
    const uint64_t epoch = objects_.empty() ? 0 : objects_.rbegin()->first.group;
    for (auto at = objects_.lower_bound({epoch, 0}); at != objects_.end(); ++at) {
      const Result<CatalogReader::Update> update = reader.OnObject(at->first, at->second);
      EXPECT_TRUE(update.ok());
      for (const CatalogRecord& record : update->records) {
        EXPECT_TRUE(known.Apply(record).ok());
      }
    }
    EXPECT_FALSE(reader.missed());
    return known;
  }
  // The groups that are listed of a track, and their keys.
  std::map<uint64_t, Digest> Listed(const TrackName& track) const {
    std::map<uint64_t, Digest> listed;
    const Holdings known = Known();
    for (const auto& [id, entry] : known.tracks()) {
      if (entry.name == track) {
        for (const auto& [group, block] : entry.groups) {
          listed[group] = block.key;
        }
      }
    }
    return listed;
  }
  uint64_t epoch() const { return objects_.empty() ? 0 : objects_.rbegin()->first.group; }
  size_t catalog_count() const { return publications_.size(); }
  RequestId tracks() const { return tracks_; }

 private:
  Client* client_;
  RequestId tracks_;
  std::vector<RequestId> publications_;
  std::vector<RequestId> fetches_;
  std::map<Location, Bytes> objects_;
};

// A world in which a fetch that nobody takes soon stands still.
inline RelayWorld::Options LittleRoom() {
  RelayWorld::Options options;
  options.session.send_queue_high_bytes = 50'000;
  options.session.send_queue_low_bytes = 10'000;
  options.session.stream_queue_bytes = 20'000;
  options.connection.stream_window = 20'000;
  return options;
}

}  // namespace kvcast::relay
