// How many prefixes upstreams are asked for, and for whom.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

TrackNamespace Elsewhere(size_t number) {
  return *TrackNamespace::Of({"elsewhere", "x" + std::to_string(number)});
}

// An edge that follows few prefixes, and an origin with something to be listed.
struct FewPrefixes {
  explicit FewPrefixes(size_t followed_max) : levels(OptionsFor(followed_max)) {
    link = &levels.Connect(edge, origin);
    levels.Publish(origin, BlockTrack("p"), 2, 2);
  }
  static RelayWorld::Options OptionsFor(size_t followed_max) {
    RelayWorld::Options options;
    options.relay.limits.followed_max = followed_max;
    return options;
  }

  // Asks for prefixes that nobody else wants; those that were accepted.
  std::vector<RequestId> AskForMany(Client& client, size_t count, size_t first = 0) {
    for (size_t i = 0; i < count; ++i) {
      (void)*client->SubscribeTracks(Elsewhere(first + i), {});
    }
    levels.Run();
    std::vector<RequestId> accepted;
    for (const auto& event : client.Take<moqt::RequestAccepted>()) {
      accepted.push_back(event.request);
    }
    return accepted;
  }
  // How many blocks of the origin's somebody at the edge who comes now learns of.
  size_t Learned() {
    CatalogFollower follower(levels.Join(edge));
    for (int i = 0; i < 4; ++i) {
      levels.Run();
      follower.Follow();
    }
    return follower.Listed(BlockTrack("p")).size();
  }

  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  Levels::Link* link = nullptr;
};

TEST(RelayFollowLimits, OneWhoWantsManyPrefixesLeavesRoomForOthers) {
  FewPrefixes w(8);
  Client& greedy = w.levels.Join(w.edge);
  EXPECT_EQ(w.AskForMany(greedy, 20).size(), 4u);
  const auto refused = greedy.Take<moqt::RequestRefused>();
  ASSERT_EQ(refused.size(), 16u);
  for (const auto& event : refused) {
    EXPECT_EQ(event.error.code, RequestCode::kExcessiveLoad);
    EXPECT_TRUE(event.error.retry_after_ms.has_value());
  }
  EXPECT_EQ(w.edge.Count("kvcast_relay_refused_prefixes_total"), 16u);
  EXPECT_EQ(w.Learned(), 2u);
}

// What lingers is there for who comes back, and not in the way of who is here.
TEST(RelayFollowLimits, WhatNobodyWantsAnyMoreGivesWay) {
  FewPrefixes w(4);
  for (size_t i = 0; i < 4; ++i) {
    Client& passing = w.levels.Join(w.edge);
    ASSERT_EQ(w.AskForMany(passing, 1, i).size(), 1u);
    w.levels.Leave(passing);
  }
  EXPECT_EQ(w.Learned(), 2u);
}

TEST(RelayFollowLimits, WhoWasRefusedTakesNothingFromOthersByLeaving) {
  FewPrefixes w(1);
  Client& holder = w.levels.Join(w.edge);
  ASSERT_EQ(w.AskForMany(holder, 1).size(), 1u);
  Client& late = w.levels.Join(w.edge);
  (void)*late->SubscribeTracks(CatalogPrefix(), {});
  w.levels.Run();
  EXPECT_EQ(late.One<moqt::RequestRefused>().error.code, RequestCode::kExcessiveLoad);
  w.levels.Leave(holder);
  Client& reader = w.levels.Join(w.edge);
  CatalogFollower follower(reader);
  w.levels.Run();
  follower.Follow();
  w.levels.Leave(late);
  w.levels.Wait(std::chrono::minutes(11));
  w.levels.Publish(w.origin, BlockTrack("q"), 3, 1);
  for (int i = 0; i < 4; ++i) {
    w.levels.Run();
    follower.Follow();
  }
  EXPECT_EQ(follower.Listed(BlockTrack("q")).size(), 3u);
}

TEST(RelayFollowLimits, ThePrefixOfAnotherNeedsNoRoom) {
  FewPrefixes w(1);
  Client& first = w.levels.Join(w.edge);
  ASSERT_EQ(w.AskForMany(first, 1).size(), 1u);
  Client& second = w.levels.Join(w.edge);
  ASSERT_EQ(w.AskForMany(second, 1).size(), 1u);
  w.levels.Leave(first);  // It is in use all the same.
  Client& third = w.levels.Join(w.edge);
  EXPECT_EQ(w.AskForMany(third, 1, 1).size(), 0u);
  w.levels.Leave(second);
  EXPECT_EQ(w.AskForMany(third, 1, 1).size(), 1u);
}

TEST(RelayFollowLimits, HoldForWhoMovesToo) {
  FewPrefixes w(2);
  Client& other = w.levels.Join(w.edge);
  ASSERT_EQ(w.AskForMany(other, 1).size(), 1u);
  Client& reader = w.levels.Join(w.edge);
  const RequestId tracks = *reader->SubscribeTracks(CatalogPrefix(), {});
  w.levels.Run();
  ASSERT_EQ(reader.Take<moqt::RequestAccepted>().size(), 1u);
  // Its own place is free when it moves.
  moqt::Parameters moved;
  moved.namespace_prefix = Elsewhere(1);
  ASSERT_TRUE(reader->Update(tracks, moved).ok());
  w.levels.Run();
  EXPECT_TRUE(reader.Take<moqt::UpdateRefused>().empty());
  Client& second = w.levels.Join(w.edge);
  ASSERT_EQ(w.AskForMany(second, 1, 1).size(), 1u);  // The same place.
  moved.namespace_prefix = CatalogPrefix();
  ASSERT_TRUE(reader->Update(tracks, moved).ok());
  w.levels.Run();
  EXPECT_EQ(reader.One<moqt::UpdateRefused>().error.code, RequestCode::kExcessiveLoad);
  // Its request is over, and holds no room.
  w.levels.Leave(second);
  EXPECT_EQ(w.Learned(), 2u);
}

TEST(RelayFollowLimits, HoldForNamespacesAsForTracks) {
  FewPrefixes w(2);
  Client& reader = w.levels.Join(w.edge);
  (void)*reader->SubscribeNamespace(Elsewhere(0), {});
  (void)*reader->SubscribeNamespace(Elsewhere(1), {});
  w.levels.Run();
  EXPECT_EQ(reader.Take<moqt::RequestAccepted>().size(), 1u);
  EXPECT_EQ(reader.One<moqt::RequestRefused>().error.code, RequestCode::kExcessiveLoad);
  // Those of tracks are counted by themselves.
  EXPECT_EQ(w.Learned(), 2u);
}

TEST(RelayFollowLimits, WhatAnUpstreamRefusesToTellOfIsCounted) {
  RelayWorld::Options options;
  options.relay.limits.namespaces_max = 1;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  for (size_t i = 0; i < 3; ++i) {
    (void)*levels.Join(edge)->SubscribeTracks(Elsewhere(i), {});
  }
  levels.Run();
  EXPECT_EQ(edge.Count("kvcast_upstream_refused_prefixes_total"), 2u);
}

}  // namespace
}  // namespace kvcast::relay
