// A node over real QUIC on loopback: what one connection publishes, another fetches and follows.
#include "kvcast/host/node_server.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kvcast/catalog/block_key.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/host/bare_client_test.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/loop_until_test.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

using moqt::RequestId;

TrackName BlockTrack(std::string_view prefix) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", prefix, "generation"}),
                        "BF16");
}
TrackNamespace CatalogPrefix() {
  return *TrackNamespace::Of({"service", "tenant/model@0", "catalog"});
}

class NodeServerTest : public testing::Test {
 protected:
  static constexpr Duration kPatience = std::chrono::seconds(120);  // Only so as not to hang.

  void SetUp() override {
    loop_ = *EventLoop::Make();
    scratch_ = std::make_unique<ScratchDirectory>(*ScratchDirectory::Make());
    credentials_ =
        std::make_unique<ServerCredentials>(*ServerCredentials::Development(scratch_->path()));
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = 64 << 20;
    node_ = *NodeServer::Start(*loop_, options, *credentials_, metrics_, nullptr);
  }
  std::unique_ptr<BareClient> Connect() {
    return std::make_unique<BareClient>(*loop_, node_->local(), credentials_->fingerprint());
  }
  bool Until(const std::function<bool()>& done) { return LoopUntil(*loop_, kPatience, done); }
  // Takes a request's objects until the fetch is over, or so many have come.
  std::vector<Object> TakeObjects(BareClient& client, RequestId request, size_t count) {
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
        client.Poke();  // Room was made.
      }
      return over || objects.size() >= count;
    }));
    return objects;
  }

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::unique_ptr<ServerCredentials> credentials_;
  Metrics metrics_;
  std::unique_ptr<NodeServer> node_;
};

TEST_F(NodeServerTest, ServesWhatItWasGiven) {
  const TrackName track = BlockTrack("p");
  const auto publisher = Connect();
  publisher->PublishAll(track, 3, 40, 100'000);
  ASSERT_TRUE(Until([&] { return node_->relay().listed_blocks() == 3; }));

  const auto reader = Connect();
  const RequestId request = *(*reader)->Fetch(track, LocationRange::Groups(0, 2), {});
  reader->Poke();
  const std::vector<Object> objects = TakeObjects(*reader, request, 1000);
  ASSERT_EQ(objects.size(), 120u);
  for (const Object& object : objects) {
    EXPECT_EQ(object.payload.ToString(), PayloadAt(object.location, 100'000));
  }
  EXPECT_TRUE(reader->Next<moqt::FetchAccepted>()->answer.end_of_track);
  EXPECT_EQ(metrics_.Value("kvcast_relay_peers"), 2);
}

// What one peer does reaches another whose connection is silent.
TEST_F(NodeServerTest, TellsOthersOfWhatItHolds) {
  const auto reader = Connect();
  (void)*(*reader)->SubscribeTracks(CatalogPrefix(), {});
  reader->Poke();
  ASSERT_TRUE(Until([&] { return reader->Next<moqt::RequestAccepted>().has_value(); }));
  const auto publisher = Connect();
  publisher->PublishAll(BlockTrack("p"), 1, 2, 100);
  std::optional<moqt::PublishReceived> catalog;
  ASSERT_TRUE(Until([&] { return (catalog = reader->Next<moqt::PublishReceived>()).has_value(); }));
  ASSERT_TRUE((*reader)->AcceptPublish(catalog->request, {}).ok());
  const Location largest = catalog->parameters.largest_object.value();
  const RequestId snapshot = *(*reader)->Fetch(catalog->track, {{largest.group, 0}, largest}, {});
  reader->Poke();
  CatalogReader parsed;
  size_t records = 0;
  for (const Object& object : TakeObjects(*reader, snapshot, 1000)) {
    records += parsed.OnObject(object.location, object.payload)->records.size();
  }
  EXPECT_EQ(records, 2u);  // The track, and its block.

  // And of what comes later.
  publisher->PublishAll(BlockTrack("q"), 1, 2, 100);
  const std::vector<Object> more = TakeObjects(*reader, catalog->request, 1);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(parsed.OnObject(more[0].location, more[0].payload)->records.size(), 2u);
}

TEST_F(NodeServerTest, ForgetsAPeerThatIsGone) {
  auto client = Connect();
  ASSERT_TRUE(Until([&] { return node_->peer_count() == 1; }));
  (*client)->Close(moqt::SessionCode::kNoError, "bye");
  client->Poke();
  ASSERT_TRUE(Until([&] { return node_->peer_count() == 0; }));
  EXPECT_EQ(metrics_.Value("kvcast_relay_peers"), 0);
}

TEST_F(NodeServerTest, SaysGoodbye) {
  const auto client = Connect();
  ASSERT_TRUE(Until([&] { return client->Next<moqt::SetupDone>().has_value(); }));
  node_->SayGoodbye(std::chrono::seconds(2));
  std::optional<moqt::GoAwayReceived> goodbye;
  ASSERT_TRUE(Until([&] { return (goodbye = client->Next<moqt::GoAwayReceived>()).has_value(); }));
  EXPECT_EQ(goodbye->message.timeout_ms, 2000u);
  node_->Close();
  ASSERT_TRUE(Until([&] { return client->Next<moqt::SessionClosed>().has_value(); }));
}

}  // namespace
}  // namespace kvcast
