#include "kvcast/relay/canary.h"

#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

Relay::Options SmallRelay(size_t ram_bytes = 16 << 20) {
  Relay::Options options;
  options.ram_bytes = ram_bytes;
  return options;
}

TEST(Canary, ComesBackAgainAndAgain) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  Canary canary(relay);
  for (int i = 0; i < 100; ++i) {
    const Result<void> tried = canary.Try(Instant() + std::chrono::seconds(i));
    ASSERT_TRUE(tried.ok()) << tried.error().ToString();
  }
}

TEST(Canary, LeavesNothingBehind) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  Canary canary(relay);
  ASSERT_TRUE(canary.Try(Instant()).ok());
  const size_t bytes = relay.stored_bytes();
  const std::string before = metrics.Render();
  for (int i = 1; i < 100; ++i) {
    ASSERT_TRUE(canary.Try(Instant() + std::chrono::seconds(i)).ok());
  }
  EXPECT_EQ(relay.stored_bytes(), bytes);
  EXPECT_EQ(relay.peer_count(), 0U);
  EXPECT_EQ(relay.listed_blocks(), 0U);
  EXPECT_EQ(metrics.Render(), before);
  for (const char* name : {"kvcast_relay_publications_total", "kvcast_relay_fetches_total",
                           "kvcast_relay_peers", "kvcast_relay_received_objects_total",
                           "kvcast_relay_sent_objects_total", "kvcast_store_memory_hits_total",
                           "kvcast_relay_evicted_groups_total", "kvcast_relay_stored_objects"}) {
    EXPECT_EQ(metrics.Value(name), 0) << name;
  }
}

// What users do is counted as ever, before and after.
TEST(Canary, HidesNothingOfOthers) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  Canary canary(relay);
  Client client(relay, {}, {});
  ASSERT_TRUE(canary.Try(Instant()).ok());
  EXPECT_EQ(metrics.Value("kvcast_relay_peers"), 1);
  const TrackName track = BlockTrack("a");
  const moqt::RequestId request = *client->Publish(track, {}, {});
  client.SendGroup(request, track, 0, 1);
  while (client.connection().Step()) {
  }
  relay.OnInput(client.peer(), Instant());
  ASSERT_TRUE(canary.Try(Instant()).ok());
  EXPECT_EQ(metrics.Value("kvcast_relay_publications_total"), 1);
  EXPECT_EQ(metrics.Value("kvcast_relay_received_objects_total"), 1);
}

TEST(Canary, IsSeenByNobodyElse) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  Canary canary(relay);
  Client follower(relay, {}, {});
  ASSERT_TRUE(follower->SubscribeTracks({}, {}).ok());
  ASSERT_TRUE(follower
                  ->Fetch(*TrackName::Of(*TrackNamespace::Of({"kvcast.canary", "1"}), "sings"),
                          {{0, 0}, {0, 0}}, {})
                  .ok());
  const auto run = [&] {
    do {
      while (follower.connection().Step()) {
      }
      relay.OnInput(follower.peer(), Instant());
    } while (follower.connection().Step());
  };
  run();
  ASSERT_TRUE(canary.Try(Instant()).ok());
  run();
  EXPECT_TRUE(follower.Take<moqt::PublishReceived>().empty());
  EXPECT_EQ(follower.Take<moqt::RequestRefused>().size(), 1U);
}

// Somebody who could would make a node look well, or ill.
TEST(Canary, NobodyElseMayPublishWhereItFlies) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  Client client(relay, {}, {});
  ASSERT_TRUE(
      client->Publish(*TrackName::Of(*TrackNamespace::Of({"kvcast.canary", "1"}), "sings"), {}, {})
          .ok());
  do {
    while (client.connection().Step()) {
    }
    relay.OnInput(client.peer(), Instant());
  } while (client.connection().Step());
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kUnauthorized);
}

// A node that has no room for a small object is of no use to anybody.
TEST(Canary, SaysWhenThereIsNoRoom) {
  Metrics metrics;
  Relay relay(SmallRelay(/*ram_bytes=*/1), metrics);
  EXPECT_FALSE(Canary(relay).Try(Instant()).ok());
}

}  // namespace
}  // namespace kvcast::relay
