// A node of several shards that asks others: each of its shards does, and it is as one.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/host/sharded_node_test.h"
#include "kvcast/relay/ring_watch.h"

namespace kvcast {
namespace {

class ShardedUpstreamTest : public ShardedNodeTest {
 protected:
  static constexpr size_t kParts = 2;

  struct Origin {
    Metrics metrics;
    std::unique_ptr<NodeServer> node;

    uint64_t Count(const std::string& name) { return metrics.counter(name, "").value(); }
  };

  Origin& StartOrigin() {
    origins_.push_back(std::make_unique<Origin>());
    Origin& origin = *origins_.back();
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = 64 << 20;
    FillRandom(options.relay.node);
    FillRandom(options.relay.boot);
    origin.node = *NodeServer::Start(*loop_, options, *credentials_, origin.metrics, nullptr);
    return origin;
  }
  // A node of some shards below all origins there are, each of whose shards is connected to each.
  void StartEdge() {
    for (const auto& origin : origins_) {
      UpstreamLink::Options upstream;
      upstream.address = {origin->node->local().ToString(),
                          PinnedCertificate{credentials_->fingerprint()}};
      upstream.name = upstream.address.host_and_port;
      upstream.prefixes = {TrackNamespace()};
      upstream.first_pause = std::chrono::milliseconds(20);
      upstream.longest_pause = std::chrono::milliseconds(100);
      options_.upstreams.push_back(std::move(upstream));
    }
    Start(kParts);
    ASSERT_TRUE(Until([&] {
      return AllConnected(*first_) && std::ranges::all_of(OfOthers([](NodeServer& node) {
                                                            return size_t{AllConnected(node)};
                                                          }),
                                                          [](size_t all) { return all == 1; });
    }));
  }
  static bool AllConnected(const NodeServer& node) {
    return std::ranges::all_of(node.upstreams(),
                               [](const auto& link) { return link->connected(); });
  }
  std::vector<size_t> OfOthers(const std::function<size_t(NodeServer&)>& ask) {
    std::vector<size_t> said;
    for (const auto& each :
         others_->Ask<size_t>([ask](OtherShards::Shard& shard) { return ask(*shard.node); })) {
      said.push_back(each.value());
    }
    return said;
  }
  BareClient& ConnectTo(const Origin& origin) {
    clients_.push_back(
        std::make_unique<BareClient>(*loop_, origin.node->local(), credentials_->fingerprint()));
    BareClient& client = *clients_.back();
    EXPECT_TRUE(Until([&] { return client.quic().connection().ready(); }));
    return client;
  }
  // Of a track on each shard, all that there is.
  void PublishAt(Origin& origin, const std::string& seed) {
    BareClient& publisher = ConnectTo(origin);
    for (size_t owner = 0; owner < kParts; ++owner) {
      publisher.PublishAll(TrackOn(owner, seed), 2, 4, 1000);
      ASSERT_TRUE(IsStored(publisher, TrackOn(owner, seed)));
    }
  }
  // Until the client has heard of so many catalogs below the prefix.
  std::set<TrackName> HearCatalogs(BareClient& reader, size_t count) {
    const TrackNamespace prefix =
        *TrackNamespace::Of({relay::kServiceField, "tenant/model@0", "catalog"});
    EXPECT_TRUE(reader->SubscribeTracks(prefix, {}).ok());
    reader.Poke();
    std::set<TrackName> heard;
    EXPECT_TRUE(Until([&] {
      while (const auto offer = reader.Next<moqt::PublishReceived>()) {
        EXPECT_TRUE(CatalogTrack::Parse(offer->track).ok());
        EXPECT_TRUE(heard.insert(offer->track).second) << offer->track.Render();
        EXPECT_TRUE(reader->AcceptPublish(offer->request, {}).ok());
        reader.Poke();
      }
      return heard.size() >= count;
    }));
    return heard;
  }
  void TearDown() override {
    Stop();
    origins_.clear();
  }

  std::vector<std::unique_ptr<Origin>> origins_;
};

TEST_F(ShardedUpstreamTest, FetchesEachTrackOnceWhicheverShardHasItAndWhoeverAsks) {
  Origin& origin = StartOrigin();
  StartEdge();
  PublishAt(origin, "");
  const std::vector<BareClient*> homes = ConnectToEach();
  for (size_t owner = 0; owner < kParts; ++owner) {
    for (BareClient* const reader : homes) {
      ExpectWhole(FetchAll(*reader, TrackOn(owner)), 1000);
    }
  }
  EXPECT_EQ(origin.Count("kvcast_relay_sent_objects_total"), kParts * 8);
}

TEST_F(ShardedUpstreamTest, SubscribesOnceForAll) {
  Origin& origin = StartOrigin();
  StartEdge();
  const std::vector<BareClient*> homes = ConnectToEach();
  BareClient& publisher = ConnectTo(origin);
  for (size_t owner = 0; owner < kParts; ++owner) {
    SCOPED_TRACE(owner);
    const TrackName track = TrackOn(owner, "live");
    const moqt::RequestId published = *publisher->Publish(track, {}, {});
    publisher.Poke();
    ASSERT_TRUE(Until([&] { return publisher.Next<moqt::RequestAccepted>().has_value(); }));
    std::vector<moqt::RequestId> subscriptions;
    for (BareClient* const reader : homes) {
      subscriptions.push_back(*(*reader)->Subscribe(track, {}));
      reader->Poke();
      ASSERT_TRUE(Until([&] { return reader->Next<moqt::RequestAccepted>().has_value(); }));
    }
    const moqt::StreamId stream = *publisher->OpenSubgroup(published, {});
    Object object;
    object.payload = Bytes::Of("live");
    ASSERT_TRUE(publisher->SendObject(published, stream, object).ok());
    publisher.Poke();
    for (size_t home = 0; home < homes.size(); ++home) {
      std::string payload;
      ASSERT_TRUE(Until([&] {
        while (auto item = (*homes[home])->Take(subscriptions[home])) {
          if (auto* got = std::get_if<moqt::ReceivedObject>(&*item)) {
            payload = got->object.payload.ToString();
          }
        }
        return !payload.empty();
      }));
      EXPECT_EQ(payload, "live");
    }
  }
  EXPECT_EQ(origin.Count("kvcast_relay_subscriptions_total"), kParts);
}

TEST_F(ShardedUpstreamTest, TellsBelowOfWhatIsAbove) {
  Origin& origin = StartOrigin();
  StartEdge();
  PublishAt(origin, "");
  BareClient& reader = Connect();
  EXPECT_EQ(HearCatalogs(reader, 1).size(), 1u);
  // What came is listed by the shards that have it.
  for (size_t owner = 0; owner < kParts; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner)), 1000);
  }
  EXPECT_EQ(HearCatalogs(Connect(), 1 + kParts).size(), 1 + kParts);
}

TEST_F(ShardedUpstreamTest, TellsAboveOfWhatIsHereAndBringsIt) {
  Origin& origin = StartOrigin();
  StartEdge();
  BareClient& publisher = Connect();
  for (size_t owner = 0; owner < kParts; ++owner) {
    publisher.PublishAll(TrackOn(owner), 2, 4, 1000);
    ASSERT_TRUE(IsStored(publisher, TrackOn(owner)));
  }
  BareClient& reader = ConnectTo(origin);
  const std::set<TrackName> heard = HearCatalogs(reader, kParts);
  std::set<size_t> shards;
  for (const TrackName& catalog : heard) {
    shards.insert(ShardOf(catalog.space(), kParts));
  }
  EXPECT_EQ(shards.size(), kParts);
  for (size_t owner = 0; owner < kParts; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner)), 1000);
  }
}

TEST_F(ShardedUpstreamTest, ForgetsOnEveryShardWhatWasForgottenAbove) {
  Origin& origin = StartOrigin();
  StartEdge();
  PublishAt(origin, "");
  BareClient& reader = Connect();
  for (size_t owner = 0; owner < kParts; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner)), 1000);
  }
  const auto listed = [&] {
    size_t blocks = first_->relay().listed_blocks();
    for (const size_t each :
         OfOthers([](NodeServer& node) { return node.relay().listed_blocks(); })) {
      blocks += each;
    }
    return blocks;
  };
  EXPECT_EQ(listed(), 2 * kParts);
  relay::ForgetScope scope;
  scope.tenant = "tenant";
  EXPECT_TRUE(origin.node->Forget(scope, relay::ForgetMode::kNow).complete());
  EXPECT_TRUE(Until([&] { return listed() == 0; }));
  for (size_t owner = 0; owner < kParts; ++owner) {
    EXPECT_TRUE(FetchAll(reader, TrackOn(owner)).empty());
  }
}

TEST_F(ShardedUpstreamTest, AsksTheNextOnEveryShardWhenOneIsLost) {
  Origin& first = StartOrigin();
  Origin& second = StartOrigin();
  StartEdge();
  PublishAt(first, "a");
  PublishAt(second, "b");
  PublishAt(second, "c");
  BareClient& reader = Connect();
  // What the first does not know the second is asked for.
  for (size_t owner = 0; owner < kParts; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner, "a")), 1000);
    ExpectWhole(FetchAll(reader, TrackOn(owner, "b")), 1000);
  }
  first.node->Close();
  ASSERT_TRUE(Until([&] {
    return !first_->upstreams().front()->connected() &&
           std::ranges::all_of(OfOthers([](NodeServer& node) {
                                 return size_t{node.upstreams().front()->connected()};
                               }),
                               [](size_t connected) { return connected == 0; });
  }));
  for (size_t owner = 0; owner < kParts; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner, "a")), 1000);
    ExpectWhole(FetchAll(reader, TrackOn(owner, "c")), 1000);
  }
}

// Two nodes that are told to ask each other: a question comes back to the shard that has asked it,
// though its name would be another's to answer, and all shards leave the upstream.
TEST_F(ShardedUpstreamTest, LeavesAnUpstreamThatLeadsBackOnEveryShard) {
  const auto misleads = [](const NodeId& node) {
    for (size_t shard = 0; shard < kParts; ++shard) {
      const NodeId id = ShardNode(node, shard);
      const std::string_view text(reinterpret_cast<const char*>(id.data()), id.size());
      if (ShardOf(*TrackNamespace::Of({relay::RingWatch::kSpace, text}), kParts) == shard) {
        return false;
      }
    }
    return true;
  };
  while (!misleads(options_.relay.node)) {
    FillRandom(options_.relay.node);
  }
  options_.relay.limits.ring_interval = std::chrono::milliseconds(100);
  Origin& other = StartOrigin();
  const SocketAddress place = other.node->local();
  StartEdge();
  other.node->Close();
  other.node.reset();
  NodeServer::Options options;
  options.listen = place;
  options.relay.ram_bytes = 64 << 20;
  UpstreamLink::Options upstream;
  upstream.address = {first_->local().ToString(), PinnedCertificate{credentials_->fingerprint()}};
  upstream.name = "edge";
  upstream.prefixes = {TrackNamespace()};
  options.upstreams = {upstream};
  // Of a ring the one with the largest id gives way.
  options.relay.node.fill(std::byte{0});
  other.node = *NodeServer::Start(*loop_, options, *credentials_, other.metrics, nullptr);
  const auto left = [](NodeServer& node) {
    const UpstreamLink& link = *node.upstreams().front();
    return size_t{link.connections() >= 2 && !link.connected()};
  };
  EXPECT_TRUE(Until(
      [&] { return left(*first_) == 1 && OfOthers(left) == std::vector<size_t>(kParts - 1, 1); }));
  EXPECT_TRUE(Until([&] { return other.node->upstreams().front()->connected(); }));
}

}  // namespace
}  // namespace kvcast
