// A node's clients hear of what only an edge below it has, and get it: so one subscription at any
// node learns of the whole network.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

class RelayOffers : public testing::Test {
 protected:
  // The catalogs that a new client of the node hears of, after all has settled.
  std::vector<TrackName> CatalogsAt(Levels::Node& node) {
    Client& client = levels_.Join(node);
    (void)*client->SubscribeTracks(CatalogPrefix(), {});
    levels_.Run();
    std::vector<TrackName> tracks;
    for (const auto& event : client.Take<moqt::PublishReceived>()) {
      tracks.push_back(event.track);
    }
    levels_.Leave(client);
    return tracks;
  }
  bool Lists(Levels::Node& node, const TrackName& track, size_t groups) {
    Client& client = levels_.Join(node);
    CatalogFollower follower(client);
    do {
      follower.Follow();
    } while (levels_.Step());
    follower.Follow();
    const bool lists = follower.Listed(track).size() == groups;
    levels_.Leave(client);
    return lists;
  }
  size_t Fetched(Levels::Node& node, const TrackName& track) {
    Client& client = levels_.Join(node);
    levels_.Run();
    const size_t count = levels_.Fetch(client, track, LocationRange::Groups(0, 9)).objects.size();
    levels_.Leave(client);
    return count;
  }

  Levels levels_;
  const TrackName track_ = BlockTrack("p");
};

TEST_F(RelayOffers, AnOriginsClientsHearOfAnEdge) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Connect(edge, origin);
  EXPECT_TRUE(CatalogsAt(origin).empty());
  levels_.Publish(edge, track_, 3, 2);
  EXPECT_EQ(CatalogsAt(origin).size(), 1u);
  EXPECT_TRUE(Lists(origin, track_, 3));
  EXPECT_EQ(Fetched(origin, track_), 6u);
}

// Whichever came first: the session, or what was published.
TEST_F(RelayOffers, WhatWasThereBeforeTheSessionIsOffered) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Publish(edge, track_, 3, 2);
  levels_.Connect(edge, origin);
  EXPECT_TRUE(Lists(origin, track_, 3));
  EXPECT_EQ(Fetched(origin, track_), 6u);
}

TEST_F(RelayOffers, TwoEdgesHearOfEachOther) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& first = levels_.AddNode({{}});
  Levels::Node& second = levels_.AddNode({{}});
  levels_.Connect(first, origin);
  levels_.Connect(second, origin);
  levels_.Publish(first, track_, 3, 2);
  EXPECT_TRUE(Lists(second, track_, 3));
  EXPECT_EQ(Fetched(second, track_), 6u);
}

TEST_F(RelayOffers, ChangesAreHeardWhileTheyHappen) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& first = levels_.AddNode({{}});
  Levels::Node& second = levels_.AddNode({{}});
  levels_.Connect(first, origin);
  levels_.Connect(second, origin);
  levels_.Publish(first, track_, 1, 2);
  Client& client = levels_.Join(second);
  CatalogFollower follower(client);
  const auto settle = [&] {
    do {
      follower.Follow();
    } while (levels_.Step());
    follower.Follow();
  };
  settle();
  EXPECT_EQ(follower.Listed(track_).size(), 1u);
  for (int i = 0; i < 20; ++i) {
    const TrackName more = BlockTrack("q" + std::to_string(i));
    levels_.Publish(first, more, 2, 1);
    settle();
    EXPECT_EQ(follower.Listed(more).size(), 2u) << i;
  }
}

TEST_F(RelayOffers, FourLevelsAreAsGoodAsTwo) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& left = levels_.AddNode({{}});
  Levels::Node& left_edge = levels_.AddNode({{}});
  Levels::Node& right = levels_.AddNode({{}});
  Levels::Node& right_edge = levels_.AddNode({{}});
  levels_.Connect(left, origin);
  levels_.Connect(left_edge, left);
  levels_.Connect(right, origin);
  levels_.Connect(right_edge, right);
  levels_.Publish(left_edge, track_, 2, 2);
  EXPECT_TRUE(Lists(right_edge, track_, 2));
  EXPECT_EQ(Fetched(right_edge, track_), 4u);
}

TrackName ModelTrack(std::string_view model) {
  return *TrackName::Of(*TrackNamespace::Of({"service", model, "p", "generation"}), "BF16");
}

// Each is of another model, and so on a track of its own.
TEST(RelayOffersLimits, AllCatalogsGoUpHoweverManyAreToldToAClient) {
  RelayWorld::Options options;
  options.relay.limits.published_max = 2;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  for (const char* model : {"a", "b", "c", "d"}) {
    levels.Publish(edge, ModelTrack(model), 1, 1);
  }
  EXPECT_EQ(origin.Count("kvcast_relay_publications_total"), 4u);
}

TEST(RelayOffersLimits, WhatTheUpstreamHasNoRoomForIsOfferedAgain) {
  RelayWorld::Options options;
  options.relay.limits.publications_max = 2;
  options.relay.limits.namespaces_max = 3;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  for (const char* model : {"a", "b", "c", "d"}) {
    levels.Publish(edge, ModelTrack(model), 1, 1);
  }
  EXPECT_EQ(origin.Count("kvcast_relay_publications_total"), 2u);
  EXPECT_EQ(edge.Count("kvcast_upstream_refused_offers_total"), 3u);
  Limits limits = origin.relay.limits();
  limits.publications_max = 4;
  limits.namespaces_max = 4;
  origin.relay.SetLimits(limits);
  levels.Wait(limits.retry_after);
  EXPECT_EQ(origin.Count("kvcast_relay_publications_total"), 4u);
  const uint64_t refused = edge.Count("kvcast_upstream_refused_offers_total");
  levels.Wait(limits.retry_after);  // And no more often than that.
  EXPECT_EQ(edge.Count("kvcast_upstream_refused_offers_total"), refused);
}

// An upstream that takes a relay for a client tells it of the others when it can.
TEST(RelayOffersLimits, WhatAnUpstreamHadNoRoomToPublishComesLater) {
  RelayWorld::Options options;
  options.relay.limits.published_max = 2;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  Client& publisher = levels.Join(origin);
  std::map<TrackName, RequestId> published;
  for (const char* model : {"a", "b", "c"}) {
    published[ModelTrack(model)] = *publisher->Publish(ModelTrack(model), {}, {});
  }
  Client& client = levels.Join(edge);
  (void)*client->SubscribeTracks(*TrackNamespace::Of({"service"}), {});
  levels.Run();
  const auto heard = client.Take<moqt::PublishReceived>();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(edge.Count("kvcast_upstream_blocked_tracks_total"), 1u);
  const RequestId ended = published.at(heard.front().track);
  ASSERT_TRUE(publisher->EndTrack(ended, moqt::DoneCode::kTrackEnded, "").ok());
  levels.Run();
  levels.Wait(options.relay.limits.retry_after);
  EXPECT_EQ(client.Take<moqt::PublishReceived>().size(), 1u);
  // All of it is there, and nothing is asked for again.
  EXPECT_EQ(origin.Count("kvcast_relay_blocked_tracks_total"), 1u);
  levels.Wait(options.relay.limits.retry_after);
  EXPECT_EQ(origin.Count("kvcast_relay_blocked_tracks_total"), 1u);
  EXPECT_EQ(origin.Count("kvcast_relay_subscriptions_total"), 3u);
}

// What came down does not go up again: each catalog is heard of once, and no bytes go round.
TEST_F(RelayOffers, NothingComesBackToWhereItCameFrom) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& first = levels_.AddNode({{}});
  Levels::Node& second = levels_.AddNode({{}});
  levels_.Connect(first, origin);
  levels_.Connect(second, origin);
  levels_.Publish(first, track_, 1, 1);
  levels_.Publish(second, BlockTrack("q"), 1, 1);
  levels_.Publish(origin, BlockTrack("r"), 1, 1);
  for (Levels::Node* node : {&origin, &first, &second}) {
    std::vector<TrackName> catalogs = CatalogsAt(*node);
    std::ranges::sort(catalogs);
    EXPECT_EQ(catalogs.size(), 3u);
    EXPECT_EQ(std::unique(catalogs.begin(), catalogs.end()), catalogs.end());
  }
  EXPECT_EQ(origin.Count("kvcast_relay_malformed_tracks_total"), 0u);
}

TEST_F(RelayOffers, AnEdgeThatLeavesIsForgottenAndThatComesBackIsHeardOfAgain) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  Levels::Link& link = levels_.Connect(edge, origin);
  levels_.Publish(edge, track_, 3, 2);
  EXPECT_EQ(CatalogsAt(origin).size(), 1u);
  levels_.Disconnect(link);
  EXPECT_EQ(CatalogsAt(origin).size(), 0u);
  EXPECT_EQ(Fetched(origin, track_), 0u);
  levels_.Connect(edge, origin);
  EXPECT_TRUE(Lists(origin, track_, 3));
  EXPECT_EQ(Fetched(origin, track_), 6u);
}

TEST_F(RelayOffers, AnUpstreamHearsOnlyOfWhatItIsAskedFor) {
  Levels::Node& origin = levels_.AddNode();
  const TrackNamespace elsewhere = *TrackNamespace::Of({"service", "other/model@0"});
  Levels::Node& edge = levels_.AddNode({{elsewhere}});
  levels_.Connect(edge, origin);
  levels_.Publish(edge, track_, 3, 2);
  EXPECT_TRUE(CatalogsAt(origin).empty());
  EXPECT_EQ(Fetched(origin, track_), 0u);
}

TEST_F(RelayOffers, NamespacesOfThoseBelowArePassedOnAndWithdrawn) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Connect(edge, origin);
  Client& watcher = levels_.Join(origin);
  (void)*watcher->SubscribeNamespace(*TrackNamespace::Of({"plain"}), {});
  Client& publisher = levels_.Join(edge);
  levels_.Run();
  const RequestId announced = *publisher->PublishNamespace(*TrackNamespace::Of({"plain", "a"}), {});
  levels_.Run();
  EXPECT_EQ(watcher.One<moqt::NamespaceReceived>().space, *TrackNamespace::Of({"plain", "a"}));
  publisher->Cancel(announced, moqt::ResetCode::kCancelled);
  levels_.Run();
  EXPECT_EQ(watcher.Take<moqt::NamespaceWithdrawn>().size(), 1u);
}

// A reader that has missed a delta asks its own node for it, and has it over all the others.
// What an edge keeps of a track that goes on elsewhere is there to be fetched, and not to be
// followed: nobody would bring what comes, and fetches above it ended where the copy does for ever.
TEST_F(RelayOffers, ACopyAtAnEdgeIsNotFollowed) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& middle = levels_.AddNode({{}});
  Levels::Node& edge = levels_.AddNode({{}});
  levels_.Connect(middle, origin);
  levels_.Connect(edge, middle);
  Client& left = levels_.Join(edge);
  left.SendGroup(*left->Publish(track_, {}, {}), track_, 0, 2);
  levels_.Run();
  levels_.Leave(left);
  Client& client = levels_.Join(middle);
  (void)*client->Subscribe(track_, {});
  levels_.Run();
  EXPECT_EQ(client.Take<moqt::RequestRefused>().size(), 1u);
  EXPECT_EQ(Fetched(middle, track_), 2u);

  Client& publisher = levels_.Join(origin);
  const RequestId published = *publisher->Publish(track_, {}, {});
  publisher.SendGroup(published, track_, 0, 2);
  publisher.SendGroup(published, track_, 1, 2);
  levels_.Run();
  const RequestId followed = *client->Subscribe(track_, {});
  levels_.Run();
  EXPECT_EQ(Fetched(middle, track_), 4u);
  publisher.SendGroup(published, track_, 2, 3);
  levels_.Run();
  Brought brought;
  brought.TakeFrom(client.session(), followed);
  EXPECT_EQ(brought.objects.size(), 3u);
}

// Who followed the copy that a node keeps has missed what its publisher, who comes later, told of
// before: the end of what comes is not the end of all there is.
TEST_F(RelayOffers, WhoeverFollowedACopyIsNotToldOfAWholeTrack) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& edge = levels_.AddNode({{}});
  Client& left = levels_.Join(origin);
  left.SendGroup(*left->Publish(track_, {}, {}), track_, 0, 2);
  levels_.Run();
  levels_.Leave(left);
  Client& client = levels_.Join(origin);
  (void)*client->Subscribe(track_, {});
  levels_.Run();
  Client& publisher = levels_.Join(edge);
  const RequestId published = *publisher->Publish(track_, {}, {});
  publisher.SendGroup(published, track_, 0, 2);
  publisher.SendGroup(published, track_, 1, 2);
  levels_.Run();
  levels_.Connect(edge, origin);
  ASSERT_TRUE(publisher->EndTrack(published, moqt::DoneCode::kTrackEnded, "").ok());
  levels_.Run();
  const moqt::PublishDone done = client.One<moqt::PublishDoneReceived>().done;
  EXPECT_EQ(done.code, moqt::DoneCode::kTrackEnded);
  EXPECT_EQ(done.streams, moqt::PublishDone::kStreamsUnknown);
}

TEST_F(RelayOffers, ALostDeltaIsRepairedOverAllLevels) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& first = levels_.AddNode({{}});
  Levels::Node& second = levels_.AddNode({{}});
  levels_.Connect(first, origin);
  levels_.Connect(second, origin);
  for (int i = 0; i < 5; ++i) {
    levels_.Publish(first, BlockTrack("q" + std::to_string(i)), 1, 1);
  }
  const TrackName catalog = CatalogsAt(second).at(0);
  Client& client = levels_.Join(second);
  levels_.Run();
  CatalogReader reader;
  const auto fetch = [&](Location from, Location to) {
    return levels_.Fetch(client, catalog, {from, to}).objects;
  };
  const std::vector<Object> all = fetch({0, 0}, {0, 4});
  ASSERT_EQ(all.size(), 5u);
  Holdings known;
  const auto take = [&](const Object& object) {
    const auto update = reader.OnObject(object.location, object.payload);
    ASSERT_TRUE(update.ok());
    for (const CatalogRecord& record : update->records) {
      ASSERT_TRUE(known.Apply(record).ok());
    }
  };
  take(all[0]);
  take(all[1]);
  take(all[4]);  // Two were lost.
  EXPECT_TRUE(reader.missed());
  for (const Object& object : fetch(reader.wanted(), {0, 4})) {
    take(object);
  }
  EXPECT_FALSE(reader.missed());
  EXPECT_EQ(known.block_count(), 5u);
}

// Snapshots of several objects and epochs that have passed: a newcomer far away reads them as one
// at the node itself would.
TEST_F(RelayOffers, ALargeCatalogIsReadOverAllLevels) {
  Levels::Node& origin = levels_.AddNode();
  Levels::Node& first = levels_.AddNode({{}});
  Levels::Node& second = levels_.AddNode({{}});
  levels_.Connect(first, origin);
  levels_.Connect(second, origin);
  constexpr size_t kTracks = 40;
  constexpr uint64_t kGroupsEach = 500;
  for (size_t i = 0; i < kTracks; ++i) {
    levels_.Publish(first, BlockTrack("q" + std::to_string(i)), kGroupsEach, 1, 10);
  }
  for (Levels::Node* node : {&first, &second, &origin}) {
    Client& client = levels_.Join(*node);
    CatalogFollower follower(client);
    do {
      follower.Follow();
    } while (levels_.Step());
    follower.Follow();
    EXPECT_EQ(follower.Known().block_count(), kTracks * kGroupsEach);
    EXPECT_GT(follower.epoch(), 0u);
    levels_.Leave(client);
  }
}

}  // namespace
}  // namespace kvcast::relay
