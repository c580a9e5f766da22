#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/host/bare_client_test.h"
#include "kvcast/host/other_shards.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/loop_until_test.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/object/track_shard.h"

namespace kvcast {

// A node of several shards over real QUIC on loopback, and clients of it.
class ShardedNodeTest : public testing::Test {
 protected:
  static constexpr Duration kPatience = std::chrono::seconds(120);  // Only so as not to hang.
  static constexpr size_t kShards = 3;

  void SetUp() override {
    loop_ = *EventLoop::Make();
    scratch_ = std::make_unique<ScratchDirectory>(*ScratchDirectory::Make());
    credentials_ =
        std::make_unique<ServerCredentials>(*ServerCredentials::Development(scratch_->path()));
    options_.listen = SocketAddress::Loopback(0);
    options_.relay.ram_bytes = 192 << 20;
    FillRandom(options_.relay.node);
  }
  void Start(size_t shards = kShards) {
    others_ = *OtherShards::Make(*loop_, shards);
    metrics_ = std::make_unique<Metrics>();
    auto started =
        others_->Start(options_, {}, *credentials_, *metrics_, nullptr, scratch_->path());
    ASSERT_TRUE(started.ok()) << started.error().ToString();
    first_ = *std::move(started);
  }
  void Stop() {
    clients_.clear();
    if (others_) {
      others_->Detach();
    }
    first_.reset();
    others_.reset();
  }
  void TearDown() override { Stop(); }

  BareClient& Connect() {
    clients_.push_back(
        std::make_unique<BareClient>(*loop_, first_->local(), credentials_->fingerprint()));
    BareClient& client = *clients_.back();
    EXPECT_TRUE(Until([&] { return client.quic().connection().ready(); }));
    return client;
  }
  // A client for each shard that has it as its own.
  std::vector<BareClient*> ConnectToEach() {
    std::vector<BareClient*> homes(others_->count());
    for (size_t found = 0, tries = 0; found < homes.size() && tries < 1000; ++tries) {
      const std::vector<size_t> before = PeerCounts();
      BareClient& client = Connect();
      std::vector<size_t> after;
      EXPECT_TRUE(Until([&] {
        after = PeerCounts();
        return after != before;
      }));
      for (size_t i = 0; i < homes.size(); ++i) {
        if (after[i] > before[i] && homes[i] == nullptr) {
          homes[i] = &client;
          ++found;
        }
      }
    }
    return homes;
  }
  std::vector<size_t> PeerCounts() {
    std::vector<size_t> counts{first_->peer_count()};
    for (const auto& count :
         others_->Ask<size_t>([](OtherShards::Shard& shard) { return shard.node->peer_count(); })) {
      counts.push_back(count.value());
    }
    return counts;
  }
  bool Until(const std::function<bool()>& done) { return LoopUntil(*loop_, kPatience, done); }

  // A track that lives on this shard.
  TrackName TrackOn(size_t shard, const std::string& seed = "") const {
    for (int i = 0;; ++i) {
      const TrackNamespace space =
          *TrackNamespace::Of({relay::kServiceField, "tenant/model@0",
                               "prefix" + seed + std::to_string(i), "generation"});
      if (ShardOf(space, others_->count()) == shard) {
        return *TrackName::Of(space, "BF16");
      }
    }
  }
  std::vector<Object> FetchAll(BareClient& client, const TrackName& track) {
    const moqt::RequestId request = *client->Fetch(track, LocationRange::Groups(0, 100), {});
    client.Poke();
    std::vector<Object> objects;
    bool over = false;
    EXPECT_TRUE(Until([&] {
      bool took = false;
      while (auto item = client->Take(request)) {
        took = true;
        if (auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
          objects.push_back(std::move(object->object));
        }
        over = over || std::holds_alternative<moqt::FetchEnd>(*item);
      }
      if (took) {
        client.Poke();
      }
      return over || client.Next<moqt::RequestRefused>().has_value();
    }));
    return objects;
  }
  // Whether all of it is there.
  bool IsStored(BareClient& client, const TrackName& track) {
    return Until([&] {
      const moqt::RequestId request = *client->AskTrackStatus(track, {});
      client.Poke();
      std::optional<moqt::RequestAccepted> accepted;
      std::optional<moqt::RequestRefused> refused;
      EXPECT_TRUE(Until([&] {
        accepted = client.Next<moqt::RequestAccepted>();
        refused = client.Next<moqt::RequestRefused>();
        return (accepted && accepted->request == request) || refused;
      }));
      return accepted && accepted->parameters.largest_object == Location{1, 3};
    });
  }
  void ExpectWhole(const std::vector<Object>& objects, size_t bytes) {
    ASSERT_EQ(objects.size(), 8u);
    for (const Object& object : objects) {
      EXPECT_EQ(object.payload.ToString(), PayloadAt(object.location, bytes));
    }
  }

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::unique_ptr<ServerCredentials> credentials_;
  NodeServer::Options options_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<OtherShards> others_;
  std::unique_ptr<NodeServer> first_;
  std::vector<std::unique_ptr<BareClient>> clients_;
};

}  // namespace kvcast
