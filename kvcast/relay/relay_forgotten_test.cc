// What an upstream was told to forget goes from those below it, too; what it merely evicted stays.
#include <gtest/gtest.h>

#include <memory>

#include "kvcast/relay/cache_names_test.h"
#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

class RelayForgotten : public testing::Test {
 protected:
  // What a client of the node gets of a track, with nobody to be asked for it.
  size_t Kept(Levels::Node& node, const TrackName& track) {
    Client& reader = levels_.Join(node);
    levels_.Run();
    const size_t count = levels_.Fetch(reader, track, LocationRange::Groups(0, 9)).objects.size();
    levels_.Leave(reader);
    return count;
  }
  // The same, and it is kept there afterwards.
  void Load(Levels::Node& node, const TrackName& track) { EXPECT_EQ(Kept(node, track), 6u); }

  Levels levels_;
  const TrackName llama_ = CacheOf("acme/llama@0", "one");
  const TrackName qwen_ = CacheOf("acme/qwen@0", "two");
  const TrackName other_ = CacheOf("globex/llama@0", "one");
};

TEST_F(RelayForgotten, GoesFromThoseBelowAtOnce) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  Levels::Link& link = levels_.Connect(edge, origin);
  for (const TrackName& track : {llama_, qwen_, other_}) {
    levels_.Publish(origin, track, 2, 3);
    Load(edge, track);
  }
  EXPECT_EQ(edge.relay.listed_blocks(), 6u);
  EXPECT_EQ(origin.relay.Forget({"acme", "llama", {}, {}}, levels_.now()).tracks, 1u);
  levels_.Run();
  EXPECT_EQ(edge.relay.listed_blocks(), 4u);
  EXPECT_EQ(origin.relay.Forget(TenantOnly("acme"), levels_.now()).tracks, 1u);
  levels_.Run();
  EXPECT_EQ(edge.relay.listed_blocks(), 2u);
  levels_.Disconnect(link);
  EXPECT_EQ(Kept(edge, llama_), 0u);
  EXPECT_EQ(Kept(edge, qwen_), 0u);
  EXPECT_EQ(Kept(edge, other_), 6u);
}

// However many tenants a node holds, and whatever its clients follow beside.
TEST_F(RelayForgotten, IsHeardOfForEveryTenant) {
  RelayWorld::Options options;
  options.relay.limits.followed_max = 1;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  Client& reader = levels.Join(edge);
  CatalogFollower follower(reader);
  for (const char* tenant : {"acme", "globex", "hooli", "initech"}) {
    levels.Publish(edge, CacheOf(std::string(tenant) + "/llama@0", "one"), 1, 1);
  }
  levels.Publish(origin, BlockTrack("p"), 1, 1);
  for (const char* tenant : {"initech", "acme", "hooli"}) {
    origin.relay.Forget(TenantOnly(tenant), levels.now());
  }
  levels.Run();
  EXPECT_EQ(edge.relay.listed_blocks(), 1u);
  follower.Follow();
  EXPECT_EQ(follower.catalog_count(), 1u);
}

TEST_F(RelayForgotten, StaysWhereTheUpstreamHasOnlyEvictedIt) {
  Levels::Node& origin = levels_.AddNode({}, 60'000);
  Levels::Node& edge = levels_.AddNode({{}});
  Levels::Link& link = levels_.Connect(edge, origin);
  levels_.Publish(origin, llama_, 2, 3);
  Load(edge, llama_);
  for (int i = 0; i < 10; ++i) {  // They take the room.
    levels_.Publish(origin, CacheOf("globex/llama@0", "large " + std::to_string(i)), 1, 20, 1000);
  }
  levels_.Disconnect(link);
  EXPECT_EQ(Kept(origin, llama_), 0u);
  EXPECT_EQ(Kept(edge, llama_), 6u);
}

TEST_F(RelayForgotten, IsHeardOfByWhoWasAwayMeanwhile) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Publish(origin, llama_, 2, 3);
  Levels::Link& first = levels_.Connect(edge, origin);
  Load(edge, llama_);
  levels_.Disconnect(first);
  origin.relay.Forget(TenantOnly("acme"), levels_.now());
  EXPECT_EQ(Kept(edge, llama_), 6u);
  Levels::Link& second = levels_.Connect(edge, origin);
  levels_.Wait(std::chrono::seconds(1));
  levels_.Disconnect(second);
  EXPECT_EQ(Kept(edge, llama_), 0u);
}

TEST_F(RelayForgotten, ComesAgainWhenItIsPublishedAnewAndThenStays) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  Levels::Link* link = &levels_.Connect(edge, origin);
  levels_.Publish(origin, llama_, 2, 3);
  Load(edge, llama_);
  origin.relay.Forget(TenantOnly("acme"), levels_.now());
  levels_.Wait(std::chrono::seconds(1));
  levels_.Publish(origin, llama_, 2, 3);
  Load(edge, llama_);
  // The list is read again, and has nothing new.
  levels_.Disconnect(*link);
  link = &levels_.Connect(edge, origin);
  levels_.Wait(std::chrono::seconds(1));
  levels_.Disconnect(*link);
  EXPECT_EQ(Kept(edge, llama_), 6u);
}

TEST_F(RelayForgotten, IsPassedOnByWhoStandsBetween) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& middle = levels_.AddNode({{}});
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Connect(middle, origin);
  Levels::Link& link = levels_.Connect(edge, middle);
  levels_.Publish(origin, llama_, 2, 3);
  Load(edge, llama_);
  origin.relay.Forget(TenantOnly("acme"), levels_.now());
  levels_.Run();
  EXPECT_EQ(middle.relay.listed_blocks(), 0u);
  levels_.Disconnect(link);
  EXPECT_EQ(Kept(edge, llama_), 0u);
}

// Whoever is asked for a part says nothing of the rest.
TEST_F(RelayForgotten, StaysWhereAnotherUpstreamIsAskedForIt) {
  Levels::Node& general = levels_.AddNode();
  Levels::Node& special = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}, {llama_.space().First(2)}});
  Levels::Link& first = levels_.Connect(edge, general, 0);
  Levels::Link& second = levels_.Connect(edge, special, 1);
  levels_.Publish(general, qwen_, 2, 3);
  levels_.Publish(special, llama_, 2, 3);
  Load(edge, qwen_);
  Load(edge, llama_);
  general.relay.Forget(TenantOnly("acme"), levels_.now());
  levels_.Run();
  levels_.Disconnect(first);
  levels_.Disconnect(second);
  EXPECT_EQ(Kept(edge, qwen_), 0u);
  EXPECT_EQ(Kept(edge, llama_), 6u);
}

// What clients of a node claim is no order to it.
TEST_F(RelayForgotten, IsNoBusinessOfThoseBelow) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Publish(origin, llama_, 2, 3);
  levels_.Connect(edge, origin);
  Load(edge, llama_);
  edge.relay.Forget(TenantOnly("acme"), levels_.now());
  levels_.Run();
  EXPECT_EQ(Kept(origin, llama_), 6u);
}

TEST_F(RelayForgotten, IsToldAfterARestart) {
  RelayWorld::Options options;
  options.relay.forgotten.lists["acme"].Add(std::nullopt, std::nullopt, 1'000'000);
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Publish(edge, llama_, 2, 3);
  EXPECT_EQ(edge.relay.listed_blocks(), 2u);
  levels.Connect(edge, origin);
  levels.Wait(std::chrono::seconds(1));
  EXPECT_EQ(edge.relay.listed_blocks(), 0u);
  const ForgetMemory* const memory = edge.relay.TakeForgotten();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->followed.size(), 1u);
}

TEST_F(RelayForgotten, IsNotHeededByWhoIsToldNotTo) {
  Relay::Options options;
  options.upstreams = {{.name = "origin", .prefixes = {TrackNamespace()}, .forgets = false}};
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNodeWith(options);
  levels.Publish(edge, llama_, 2, 3);
  levels.Connect(edge, origin);
  origin.relay.Forget(TenantOnly("acme"), levels.now());
  levels.Wait(std::chrono::seconds(1));
  EXPECT_EQ(edge.relay.listed_blocks(), 2u);
}

}  // namespace
}  // namespace kvcast::relay
