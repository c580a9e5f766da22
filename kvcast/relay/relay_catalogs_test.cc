// What a relay tells of what it holds, and to whom it publishes unasked.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kvcast/relay/cache_names_test.h"
#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

TEST(RelayCatalogs, ListsWholeGroupsNowAndLater) {
  RelayWorld world;
  const TrackName early = BlockTrack("early");
  const TrackName late = BlockTrack("late");
  Client& publisher = world.Join();
  publisher.PublishAll(early, 2, 3);
  world.Run();
  Client& reader = world.Join();
  CatalogFollower follower(reader);
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.catalog_count(), 1u);
  publisher.PublishAll(late, 3, 2);
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.Listed(early).size(), 2u);
  EXPECT_EQ(follower.Listed(late).size(), 3u);
  EXPECT_EQ(follower.Listed(late)[2], KeyOf(late, 2));
  const Holdings known = follower.Known();
  EXPECT_EQ(known.tracks().begin()->second.groups.at(0).bytes, 300u);
  EXPECT_EQ(world.metrics().Value("kvcast_relay_listed_blocks"), 5);
  EXPECT_EQ(follower.catalog_count(), 1u);
}

// A reader who came first hears of a catalog when it comes to be.
TEST(RelayCatalogs, PublishesACatalogAsSoonAsThereIsOne) {
  RelayWorld world;
  Client& reader = world.Join();
  CatalogFollower follower(reader);
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.catalog_count(), 0u);
  world.Join().PublishAll(BlockTrack("p"), 1, 1);
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.catalog_count(), 1u);
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.Listed(BlockTrack("p")).size(), 1u);
}

TEST(RelayCatalogs, ListsNothingThatHasNoKeyOrNoScope) {
  RelayWorld world;
  Client& client = world.Join();
  const TrackName shallow =
      *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", "x"}), "t");
  client.PublishAll(shallow, 1, 2);
  const TrackName track = BlockTrack("p");
  const RequestId request = *client->Publish(track, {}, {});
  const moqt::StreamId stream = client.OpenGroup(request, 0);
  Object object = ObjectAt(track, {0, 0});
  object.properties = Properties();
  ASSERT_TRUE(client->SendObject(request, stream, object).ok());
  ASSERT_TRUE(client->EndSubgroup(request, stream).ok());
  world.Run();
  EXPECT_EQ(world.relay().listed_blocks(), 0u);
  EXPECT_EQ(world.Fetch(client, shallow, LocationRange::Groups(0, 0)).objects.size(), 2u);
  EXPECT_EQ(world.Fetch(client, track, LocationRange::Groups(0, 0)).objects.size(), 1u);
}

// A catalog's name is longer than its scope, and names have a limit.
TEST(RelayCatalogs, ListsNothingOfAScopeTooLongForACatalogsName) {
  RelayWorld world;
  Client& client = world.Join();
  const auto track_of = [](size_t scope_bytes) {
    const std::string field(scope_bytes - 1, 'x');
    return *TrackName::Of(*TrackNamespace::Of({field, "y", "p", "g"}), "t");
  };
  const size_t longest = kTrackNameBytesMax - 7 - 32 - 2;
  client.PublishAll(track_of(longest), 1, 1);
  client.PublishAll(track_of(longest + 1), 1, 1);
  world.Run();
  EXPECT_EQ(world.relay().listed_blocks(), 1u);
  EXPECT_EQ(world.Fetch(client, track_of(longest + 1), LocationRange::Groups(0, 0)).objects.size(),
            1u);
}

TEST(RelayCatalogs, UnlistsWhatItEvictsAndSaysUnknownOfIt) {
  RelayWorld::Options options;
  options.relay.ram_bytes = 200'000;
  RelayWorld world(options);
  Client& client = world.Join();
  CatalogFollower follower(client);
  const TrackName track = BlockTrack("p");
  const RequestId request = *client->Publish(track, {}, {});
  for (uint64_t group = 0; group < 30; ++group) {
    client.SendGroup(request, track, group, 2, 10'000);
    world.Run();
    follower.Follow();
    EXPECT_LE(world.relay().stored_bytes(), 200'000u);
  }
  world.Run();
  follower.Follow();
  const std::map<uint64_t, Digest> listed = follower.Listed(track);
  EXPECT_GT(listed.size(), 5u);
  EXPECT_LT(listed.size(), 10u);
  // The beginning of the track, which goes from its end, and what came last.
  EXPECT_TRUE(listed.contains(0));
  EXPECT_FALSE(listed.contains(28));
  EXPECT_TRUE(listed.contains(29));
  const Brought brought = world.Fetch(client, track, LocationRange::Groups(0, 29));
  EXPECT_EQ(brought.objects.size(), 2 * listed.size());
  EXPECT_EQ(std::get<moqt::RangeEnd>(brought.items.at(2 * (listed.size() - 1))),
            (moqt::RangeEnd{{28, kWhole}, true}));
}

// A catalog's deltas must not grow for ever: a newcomer reads them all.
TEST(RelayCatalogs, BeginsANewEpochWhenTheDeltasHaveGrown) {
  RelayWorld::Options options;
  options.relay.ram_bytes = 100'000;
  options.relay.limits.epoch_bytes_min = 2'000;
  RelayWorld world(options);
  Client& client = world.Join();
  CatalogFollower follower(client);
  const TrackName track = BlockTrack("p");
  const RequestId request = *client->Publish(track, {}, {});
  for (uint64_t group = 0; group < 100; ++group) {
    client.SendGroup(request, track, group, 1, 10'000);
    world.Run();
    follower.Follow();
  }
  EXPECT_GT(follower.epoch(), 2u);
  EXPECT_TRUE(follower.Listed(track).contains(99));
  // One who comes now sees the same.
  CatalogFollower newcomer(world.Join());
  world.Run();
  newcomer.Follow();
  world.Run();
  newcomer.Follow();
  EXPECT_EQ(newcomer.Listed(track), follower.Listed(track));
}

// Each model has a catalog, and there is room for few.
TEST(RelayCatalogs, ListsWhatComesHoweverManyModelsHaveCome) {
  RelayWorld::Options options;
  options.relay.limits.scopes_max = 4;
  RelayWorld world(options);
  Client& reader = world.Join();
  (void)*reader->SubscribeTracks(*TrackNamespace::Of({kServiceField}), {});
  world.Run();
  std::map<RequestId, TrackName> heard;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) {
      Client& publisher = world.Join();
      publisher.PublishAll(CacheOf("acme/" + std::to_string(i) + "@0", "p"), 1, 1);
      world.Run();
      world.Leave(publisher);
      EXPECT_EQ(world.relay().listed_blocks(), 1u) << round << " " << i;
      EXPECT_LE(world.relay().catalog_count(), 4u);
      for (const auto& event : reader.Take<moqt::PublishReceived>()) {
        if (CatalogTrack::Parse(event.track).ok()) {
          heard.emplace(event.request, event.track);
        }
        ASSERT_TRUE(reader->AcceptPublish(event.request, {}).ok());
      }
      for (const auto& event : reader.Take<moqt::PublishDoneReceived>()) {
        heard.erase(event.request);
      }
      world.relay().Forget(TenantOnly("acme"), world.now());
      world.Run();
    }
  }
  // The reader knows of those that there are.
  EXPECT_EQ(heard.size(), world.relay().catalog_count());
  EXPECT_EQ(world.metrics().Value("kvcast_relay_unlisted_blocks_total"), 0);
}

TEST(RelayCatalogs, CountsWhatThereIsNoRoomToList) {
  RelayWorld::Options options;
  options.relay.limits.scopes_max = 4;
  RelayWorld world(options);
  for (int i = 0; i < 5; ++i) {
    world.Join().PublishAll(CacheOf("acme/" + std::to_string(i) + "@0", "p"), 1, 1);
  }
  world.Join().PublishAll(CacheOf("globex/llama@0", "p"), 1, 1);
  world.Run();
  EXPECT_EQ(world.relay().listed_blocks(), 3u);
  EXPECT_EQ(world.metrics().Value("kvcast_relay_unlisted_blocks_total"), 3);
}

TEST(RelayCatalogs, LetsNobodyElseWriteItsCatalogs) {
  RelayWorld::Options options;
  options.relay.node[3] = std::byte{9};
  RelayWorld world(options);
  Client& client = world.Join();
  CatalogTrack ours{*TrackNamespace::Of({"service", "tenant/model@0"}), options.relay.node, {}};
  ours.boot[0] = std::byte{1};  // Another run of the node.
  (void)*client->Publish(ours.Name(), {}, {});
  CatalogTrack others = ours;
  others.node[3] = std::byte{8};
  (void)*client->Publish(others.Name(), {}, {});
  world.Run();
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
  EXPECT_EQ(client.Take<moqt::RequestAccepted>().size(), 1u);
}

// As any relay does: tracks that others publish below the prefix, not the peer's own.
TEST(RelayCatalogs, PublishesLiveTracksBelowAPrefix) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& reader = world.Join();
  const TrackNamespace prefix = *TrackNamespace::Of({"service"});
  (void)*publisher->SubscribeTracks(prefix, {});
  (void)*reader->SubscribeTracks(prefix, {});
  world.Run();
  const RequestId request = *publisher->Publish(track, {}, {});
  world.Run();
  EXPECT_TRUE(publisher.Take<moqt::PublishReceived>().empty());
  const auto received = reader.One<moqt::PublishReceived>();
  EXPECT_EQ(received.track, track);
  ASSERT_TRUE(reader->AcceptPublish(received.request, {}).ok());
  publisher.SendGroup(request, track, 0, 3);
  world.Run();
  Brought brought;
  brought.TakeFrom(reader.session(), received.request);
  EXPECT_EQ(brought.objects.size(), 3u);
}

TEST(RelayCatalogs, RefusesAPrefixWithTooManyTracks) {
  RelayWorld::Options options;
  options.relay.limits.prefix_tracks_max = 2;
  RelayWorld world(options);
  Client& publisher = world.Join();
  for (const char* name : {"a", "b", "c"}) {
    (void)*publisher->Publish(BlockTrack(name), {}, {});
  }
  world.Run();
  Client& reader = world.Join();
  (void)*reader->SubscribeTracks(*TrackNamespace::Of({"service"}), {});
  world.Run();
  EXPECT_EQ(reader.One<moqt::RequestRefused>().error.code, RequestCode::kNamespaceTooLarge);
  EXPECT_TRUE(reader.Take<moqt::PublishReceived>().empty());
}

TEST(RelayCatalogs, NamesTracksThatItCannotPublish) {
  RelayWorld::Options options;
  options.relay.limits.published_max = 2;
  RelayWorld world(options);
  Client& publisher = world.Join();
  for (const char* name : {"a", "b", "c"}) {
    (void)*publisher->Publish(BlockTrack(name), {}, {});
  }
  world.Run();
  Client& reader = world.Join();
  (void)*reader->SubscribeTracks(*TrackNamespace::Of({"service"}), {});
  world.Run();
  EXPECT_EQ(reader.Take<moqt::PublishReceived>().size(), 2u);
  EXPECT_EQ(reader.One<moqt::PublishBlockedReceived>().track, BlockTrack("c"));
}

}  // namespace
}  // namespace kvcast::relay
