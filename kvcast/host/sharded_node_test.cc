// A node of several shards over real QUIC on loopback: it is as one of one shard, wherever a
// connection has its home and whatever it asks for.
#include "kvcast/host/sharded_node_test.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/host/admin_port.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/io/http_call.h"

namespace kvcast {
namespace {

TEST_F(ShardedNodeTest, ServesEveryTrackToEveryConnection) {
  Start();
  const std::vector<BareClient*> homes = ConnectToEach();
  std::map<std::pair<size_t, size_t>, TrackName> tracks;
  for (size_t home = 0; home < kShards; ++home) {
    for (size_t owner = 0; owner < kShards; ++owner) {
      const TrackName track = TrackOn(owner, "from" + std::to_string(home) + "-");
      tracks.emplace(std::pair(home, owner), track);
      homes[home]->PublishAll(track, 2, 4, 100'000);
    }
  }
  for (const auto& [pair, track] : tracks) {
    SCOPED_TRACE("published by a client of shard " + std::to_string(pair.first) + ", kept by " +
                 std::to_string(pair.second));
    for (BareClient* const reader : homes) {
      ASSERT_TRUE(IsStored(*reader, track));
      ExpectWhole(FetchAll(*reader, track), 100'000);
    }
  }
  // Each is where it belongs, and nowhere else.
  size_t stored = first_->relay().stored_objects();
  EXPECT_GE(stored, 3u * 8u);
  others_->OnEach([](OtherShards::Shard& shard) {
    EXPECT_GE(shard.node->relay().stored_objects(), 3u * 8u);
    EXPECT_LT(shard.node->relay().stored_objects(), 4u * 8u + 24u);
  });
}

TEST_F(ShardedNodeTest, BringsLiveObjectsToSubscribersOfAnyShard) {
  Start();
  const std::vector<BareClient*> homes = ConnectToEach();
  for (size_t owner = 0; owner < kShards; ++owner) {
    SCOPED_TRACE(owner);
    const TrackName track = TrackOn(owner, "live");
    BareClient& publisher = *homes[(owner + 1) % kShards];
    const moqt::RequestId published = *publisher->Publish(track, {}, {});
    publisher.Poke();
    ASSERT_TRUE(Until([&] { return publisher.Next<moqt::RequestAccepted>().has_value(); }));
    std::vector<moqt::RequestId> subscriptions;
    for (BareClient* const reader : homes) {
      if (reader == &publisher) {
        continue;
      }
      subscriptions.push_back(*(*reader)->Subscribe(track, {}));
      reader->Poke();
      ASSERT_TRUE(Until([&] { return reader->Next<moqt::RequestAccepted>().has_value(); }));
    }
    const moqt::StreamId stream = *publisher->OpenSubgroup(published, {});
    Object object;
    object.payload = Bytes::Of("live");
    ASSERT_TRUE(publisher->SendObject(published, stream, object).ok());
    publisher.Poke();
    size_t next = 0;
    for (BareClient* const reader : homes) {
      if (reader == &publisher) {
        continue;
      }
      const moqt::RequestId request = subscriptions[next++];
      std::string payload;
      ASSERT_TRUE(Until([&] {
        while (auto item = (*reader)->Take(request)) {
          if (auto* got = std::get_if<moqt::ReceivedObject>(&*item)) {
            payload = got->object.payload.ToString();
          }
        }
        return !payload.empty();
      }));
      EXPECT_EQ(payload, "live");
    }
  }
}

TEST_F(ShardedNodeTest, OneSubscriptionHearsOfTheCatalogsOfAllShards) {
  Start();
  const std::vector<BareClient*> homes = ConnectToEach();
  BareClient& reader = *homes[1];
  const TrackNamespace prefix =
      *TrackNamespace::Of({relay::kServiceField, "tenant/model@0", "catalog"});
  ASSERT_TRUE(reader->SubscribeTracks(prefix, {}).ok());
  reader.Poke();
  ASSERT_TRUE(Until([&] { return reader.Next<moqt::RequestAccepted>().has_value(); }));
  for (size_t owner = 0; owner < kShards; ++owner) {
    homes[0]->PublishAll(TrackOn(owner), 2, 4, 1000);
  }
  std::set<size_t> heard;
  ASSERT_TRUE(Until([&] {
    while (const auto offer = reader.Next<moqt::PublishReceived>()) {
      EXPECT_TRUE(CatalogTrack::Parse(offer->track).ok());
      EXPECT_TRUE(heard.insert(ShardOf(offer->track.space(), kShards)).second);
      EXPECT_TRUE(reader->AcceptPublish(offer->request, {}).ok());
      reader.Poke();
    }
    return heard.size() == kShards;
  }));
  // Each can be fetched where its name says.
  for (const TrackName& track : {TrackOn(0), TrackOn(1), TrackOn(2)}) {
    EXPECT_TRUE(IsStored(reader, track));
  }
}

// Operators see one node.
TEST_F(ShardedNodeTest, ForgetsAndTellsOfItselfAsAWhole) {
  Start();
  const std::vector<BareClient*> homes = ConnectToEach();
  const size_t clients = clients_.size();
  for (size_t owner = 0; owner < kShards; ++owner) {
    homes[0]->PublishAll(TrackOn(owner), 2, 4, 1000);
    ASSERT_TRUE(IsStored(*homes[1], TrackOn(owner)));
  }
  NodeHealth health(*loop_, *first_, {}, *metrics_, nullptr);
  others_->Watch({}, nullptr);
  NodeConfig config;
  config.admin = "127.0.0.1:0";
  const auto admin = *AdminPort::Open(*loop_, config, *first_, health, *metrics_, "secret", nullptr,
                                      others_.get());
  const auto ask = [&](const HttpCall& request) {
    auto answer = std::async(std::launch::async, [&, request] {
      return *CallHttp(admin->local(), request, std::chrono::seconds(60));
    });
    EXPECT_TRUE(Until(
        [&] { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return answer.get().body;
  };
  EXPECT_EQ(ask({"GET", "/readyz", "", ""}), "ready\n");
  const Json status = *ParseJson(ask({"GET", "/status.json", "", ""}));
  EXPECT_EQ(status["shards"], kShards);
  EXPECT_EQ(status["peer_count"], clients);
  EXPECT_EQ(status["peers"].size(), clients);
  EXPECT_EQ(status["listed_blocks"], 2 * kShards);
  EXPECT_EQ(status["catalogs"], kShards);
  const std::string metrics = ask({"GET", "/metrics", "", ""});
  EXPECT_NE(metrics.find("kvcast_node_ready 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("kvcast_relay_peers " + std::to_string(clients) + "\n"), std::string::npos)
      << metrics;
  EXPECT_TRUE(ParseJson(ask({"GET", "/misses.json", "", ""}))->is_array());

  const Json forgot = *ParseJson(ask({"POST", "/forget", "secret", R"({"tenant": "tenant"})"}));
  EXPECT_EQ(forgot["tracks"], kShards);
  EXPECT_EQ(forgot["blocks"], 2 * kShards);
  EXPECT_TRUE(forgot["complete"].get<bool>());
  for (size_t owner = 0; owner < kShards; ++owner) {
    EXPECT_TRUE(FetchAll(*homes[2], TrackOn(owner)).empty());
  }
}

TEST_F(ShardedNodeTest, AConnectionLostOnItsHomeIsGoneEverywhere) {
  Start();
  const std::vector<BareClient*> homes = ConnectToEach();
  const std::vector<size_t> counts = PeerCounts();
  size_t all = 0;
  for (const size_t count : counts) {
    all += count;
  }
  EXPECT_TRUE(Until([&] { return first_->guest_count() == all - counts[0]; }));
  for (const auto& client : clients_) {
    (*client)->Close(moqt::SessionCode::kNoError, "");
    client->Poke();
  }
  EXPECT_TRUE(Until([&] {
    size_t left = first_->guest_count() + first_->peer_count();
    for (const auto& other : others_->Ask<size_t>([](OtherShards::Shard& shard) {
           return shard.node->peer_count() + shard.node->guest_count();
         })) {
      left += other.value();
    }
    return left == 0;
  }));
}

TEST_F(ShardedNodeTest, KeepsWhatIsOnItsDisksAndRefusesAnotherNumberOfShards) {
  DiskMount::Options disk;
  disk.directory = scratch_->path() / "disk";
  disk.tier.bytes_max = uint64_t{3} << 30;
  disk.tier.index_bytes_max = 96 << 20;
  disk.tier.key_property = kBlockKeyProperty;
  FillRandom(disk.tier.fresh.bytes);
  options_.disks = {disk};
  Start();
  {
    const std::vector<BareClient*> homes = ConnectToEach();
    for (size_t owner = 0; owner < kShards; ++owner) {
      homes[0]->PublishAll(TrackOn(owner), 2, 4, 1000, DurabilityProperties(Durability::kDisk));
      ASSERT_TRUE(IsStored(*homes[1], TrackOn(owner)));
    }
  }
  first_->Flush();
  others_->OnEach([](OtherShards::Shard& shard) { shard.node->Flush(); });
  ASSERT_TRUE(Until([&] {
    bool flushed = first_->flushed();
    for (const auto& other :
         others_->Ask<bool>([](OtherShards::Shard& shard) { return shard.node->flushed(); })) {
      flushed = flushed && other.value();
    }
    return flushed;
  }));
  Stop();
  for (size_t i = 0; i < kShards; ++i) {
    EXPECT_TRUE(std::filesystem::exists(disk.directory / ShardName(i, kShards) / "superblock"));
  }
  EXPECT_EQ(CheckShardDirectory(disk.directory, 2).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(CheckShardDirectory(disk.directory, 1).error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(CheckShardDirectory(disk.directory, kShards).ok());
  EXPECT_EQ(CheckShardDirectory(disk.directory / ShardName(0, kShards), 2).error().code(),
            ErrorCode::kUnsupported);
  Start();
  BareClient& reader = Connect();
  for (size_t owner = 0; owner < kShards; ++owner) {
    ExpectWhole(FetchAll(reader, TrackOn(owner)), 1000);
  }
}

}  // namespace
}  // namespace kvcast
