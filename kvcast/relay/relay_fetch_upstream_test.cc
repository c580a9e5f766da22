// What a node does not have, and fetches from those upstream.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "kvcast/base/sanitized_test.h"
#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::GroupOrder;
using moqt::RequestCode;

const char* const kFetches = "kvcast_upstream_fetches_total";
const char* const kObjects = "kvcast_upstream_objects_total";

// An origin with a track, and an edge that may ask it.
struct TwoLevels {
  explicit TwoLevels(const RelayWorld::Options& options = {}) : levels(options) {
    link = &levels.Connect(edge, origin);
    levels.Publish(origin, track, 4, 5);
  }

  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  Levels::Link* link = nullptr;
  TrackName track = BlockTrack("p");
};

TEST(RelayFetchUpstream, BringsWhatOnlyTheOriginHas) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  const Brought brought = w.levels.Fetch(client, w.track, LocationRange::Groups(0, 3));
  const moqt::FetchOk answer = client.One<moqt::FetchAccepted>().answer;
  EXPECT_TRUE(answer.end_of_track);
  EXPECT_EQ(answer.last, (Location{3, 4}));
  ASSERT_EQ(brought.objects.size(), 20u);
  EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  for (const Object& object : brought.objects) {
    EXPECT_EQ(object.payload.ToString(), PayloadAt(w.track, object.location, 100));
  }
  EXPECT_EQ(brought.objects[0].properties, BlockKeyProperties(KeyOf(w.track, 0)));
  EXPECT_EQ(w.edge.Count(kFetches), 1u);
}

TEST(RelayFetchUpstream, ServesASecondTimeWithoutTheOrigin) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  (void)w.levels.Fetch(client, w.track, LocationRange::Groups(0, 3));
  const moqt::FetchOk first = client.One<moqt::FetchAccepted>().answer;
  w.levels.Disconnect(*w.link);
  const Brought again = w.levels.Fetch(client, w.track, LocationRange::Groups(0, 3));
  const moqt::FetchOk second = client.One<moqt::FetchAccepted>().answer;
  EXPECT_EQ(again.objects.size(), 20u);
  EXPECT_EQ(second.last, first.last);
  EXPECT_EQ(second.end_of_track, first.end_of_track);
  EXPECT_EQ(w.edge.Count(kFetches), 1u);
}

TEST(RelayFetchUpstream, AsksOnlyForWhatItLacks) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  EXPECT_EQ(w.levels.Fetch(client, w.track, LocationRange::Groups(1, 1)).objects.size(), 5u);
  EXPECT_EQ(client.One<moqt::FetchAccepted>().answer.last, (Location{1, kWhole}));
  // Of a middle group the end came with it: the same again asks nobody.
  EXPECT_EQ(w.levels.Fetch(client, w.track, LocationRange::Groups(1, 1)).objects.size(), 5u);
  EXPECT_EQ(w.edge.Count(kFetches), 1u);
  EXPECT_EQ(PlacesOf(w.levels.Fetch(client, w.track, {{0, 3}, {2, 1}})),
            "0.3 0.4 1.0 1.1 1.2 1.3 1.4 2.0 2.1");
  EXPECT_EQ(w.edge.Count(kObjects), 5u + 4u);
}

// That nothing comes from some object on does not say that the group ends just there.
TEST(RelayFetchUpstream, TakesNoGroupToEndWhereItHasNoObject) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  EXPECT_EQ(w.levels.Fetch(client, w.track, {{0, 0}, {0, 5}}).objects.size(), 5u);
  EXPECT_EQ(w.levels.Fetch(client, w.track, {{0, 6}, {0, kWhole}}).items.size(), 0u);
  EXPECT_EQ(w.levels.Fetch(client, w.track, {{1, 7}, {1, kWhole}}).items.size(), 0u);
  // Whoever publishes the track here says where they do.
  w.levels.Publish(w.edge, w.track, 4, 5);
  EXPECT_EQ(w.edge.Count("kvcast_relay_malformed_tracks_total"), 0u);
  EXPECT_EQ(w.levels.Fetch(client, w.track, LocationRange::Groups(0, 3)).objects.size(), 20u);
}

TEST(RelayFetchUpstream, GivesGroupsInTheOrderAskedFor) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  (void)w.levels.Fetch(client, w.track, LocationRange::Groups(2, 2));
  EXPECT_EQ(PlacesOf(w.levels.Fetch(client, w.track, {{1, 3}, {3, 1}}, GroupOrder::kDescending)),
            "3.0 3.1 2.0 2.1 2.2 2.3 2.4 1.3 1.4");
}

// However many ask, and whatever ranges: no object comes twice.
TEST(RelayFetchUpstream, AsksOnceForMany) {
  TwoLevels w;
  std::vector<Client*> clients;
  std::vector<RequestId> requests;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(&w.levels.Join(w.edge));
  }
  w.levels.Run();
  w.link->stalled = true;
  for (size_t i = 0; i < clients.size(); ++i) {
    requests.push_back(*(*clients[i])->Fetch(w.track, LocationRange::Groups(i % 3, 3), {}));
  }
  w.levels.Run();
  w.link->stalled = false;
  w.levels.Run();
  for (size_t i = 0; i < clients.size(); ++i) {
    Brought brought;
    brought.TakeFrom(clients[i]->session(), requests[i]);
    EXPECT_EQ(brought.objects.size(), (4 - i % 3) * 5) << i;
    EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
    EXPECT_EQ(clients[i]->One<moqt::FetchAccepted>().answer.last, (Location{3, 4}));
  }
  EXPECT_EQ(w.edge.Count(kObjects), 20u);
  EXPECT_EQ(w.edge.Count(kFetches), 1u);
  EXPECT_EQ(w.edge.Count("kvcast_upstream_coalesced_total"), 49u);
}

TEST(RelayFetchUpstream, RefusesWhatNobodyHas) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  (void)w.levels.Fetch(client, BlockTrack("other"), LocationRange::Groups(0, 3));
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
  (void)w.levels.Fetch(client, w.track, LocationRange::Groups(7, 8));
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kInvalidRange);
}

// What the origin has lost is unknown here too, and what it says does not exist does not.
TEST(RelayFetchUpstream, PassesOnWhatIsUnknownAndWhatIsNot) {
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  const TrackName track = BlockTrack("p");
  Client& publisher = levels.Join(origin);
  const RequestId publication = *publisher->Publish(track, {}, {});
  publisher.SendGroup(publication, track, 0, 2);
  publisher.SendGroup(publication, track, 3, 2);
  levels.Run();
  Client& client = levels.Join(edge);
  EXPECT_EQ(PlacesOf(levels.Fetch(client, track, LocationRange::Groups(0, 3))),
            "0.0 0.1 ?2.* 3.0 3.1");
  const uint64_t asked = edge.Count(kFetches);
  // Unknown is asked for again, what came is not.
  EXPECT_EQ(PlacesOf(levels.Fetch(client, track, {{0, 0}, {3, 1}})), "0.0 0.1 ?2.* 3.0 3.1");
  EXPECT_EQ(edge.Count(kFetches), asked + 1);
  EXPECT_EQ(edge.Count(kObjects), 4u);
}

TEST(RelayFetchUpstream, TellsOfALaterEndWhenThereIsOne) {
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  const TrackName track = BlockTrack("p");
  Client& publisher = levels.Join(origin);
  const RequestId publication = *publisher->Publish(track, {}, {});
  publisher.SendGroup(publication, track, 0, 2);
  levels.Run();
  Client& client = levels.Join(edge);
  (void)levels.Fetch(client, track, LocationRange::Groups(0, 9));
  EXPECT_EQ(client.One<moqt::FetchAccepted>().answer.last, (Location{0, 1}));
  publisher.SendGroup(publication, track, 1, 2);
  levels.Run();
  EXPECT_EQ(levels.Fetch(client, track, LocationRange::Groups(0, 9)).objects.size(), 4u);
  EXPECT_EQ(client.One<moqt::FetchAccepted>().answer.last, (Location{1, 1}));
}

TEST(RelayFetchUpstream, CancelsWhatNobodyWaitsFor) {
  TwoLevels w;
  Client& one = w.levels.Join(w.edge);
  Client& two = w.levels.Join(w.edge);
  w.levels.Run();
  w.link->stalled = true;
  const RequestId first = *one->Fetch(w.track, LocationRange::Groups(0, 3), {});
  const RequestId second = *two->Fetch(w.track, LocationRange::Groups(0, 3), {});
  w.levels.Run();
  one->Cancel(first, moqt::ResetCode::kCancelled);
  w.levels.Run();
  w.link->stalled = false;
  w.levels.Run();
  Brought brought;
  brought.TakeFrom(two.session(), second);
  EXPECT_EQ(brought.objects.size(), 20u);  // Who waits still gets it.

  const TrackName other = BlockTrack("q");
  w.levels.Publish(w.origin, other, 1, 5);
  w.link->stalled = true;
  const RequestId third = *one->Fetch(other, LocationRange::Groups(0, 0), {});
  w.levels.Run();
  one->Cancel(third, moqt::ResetCode::kCancelled);
  w.levels.Run();
  w.link->stalled = false;
  w.levels.Run();
  EXPECT_EQ(w.edge.Count(kObjects), 20u);
}

// A stalled upstream delays who waits for it, for so long, and nobody else.
TEST(RelayFetchUpstream, GivesUpOnAnUpstreamThatIsSilent) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  (void)w.levels.Fetch(client, w.track, LocationRange::Groups(0, 1));
  (void)client.Take<moqt::FetchAccepted>();
  w.link->stalled = true;
  const RequestId lacks = *client->Fetch(w.track, LocationRange::Groups(0, 3), {});
  const RequestId misses = *client->Fetch(BlockTrack("q"), LocationRange::Groups(0, 3), {});
  w.levels.Run();
  EXPECT_EQ(w.levels.Fetch(client, w.track, LocationRange::Groups(0, 1)).objects.size(), 10u);
  for (int i = 0; i < 6; ++i) {
    w.levels.Wait(std::chrono::seconds(2));
  }
  Brought brought;
  brought.TakeFrom(client.session(), lacks);
  EXPECT_EQ(brought.objects.size(), 10u);
  EXPECT_EQ(PlacesOf(brought), "0.0 0.1 0.2 0.3 0.4 1.0 1.1 1.2 1.3 1.4 ?3.*");
  const auto refused = client.One<moqt::RequestRefused>();
  EXPECT_EQ(refused.request, misses);
  EXPECT_EQ(refused.error.code, RequestCode::kTimeout);
}

TEST(RelayFetchUpstream, AsksTheNextUpstreamWhereOneFails) {
  Levels levels;
  Levels::Node& first = levels.AddNode();
  Levels::Node& second = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}, {}});
  Levels::Link& link = levels.Connect(edge, first, 0);
  levels.Connect(edge, second, 1);
  const TrackName everywhere = BlockTrack("p");
  const TrackName elsewhere = BlockTrack("q");
  levels.Publish(first, everywhere, 2, 5);
  levels.Publish(second, everywhere, 2, 5);
  levels.Publish(second, elsewhere, 1, 5);
  Client& client = levels.Join(edge);
  // The first refuses what it does not have.
  EXPECT_EQ(levels.Fetch(client, elsewhere, LocationRange::Groups(0, 0)).objects.size(), 5u);
  EXPECT_EQ(second.Count("kvcast_relay_fetches_total"), 1u);
  // It leaves in the midst of an answer.
  link.stalled = true;
  const RequestId request = *client->Fetch(everywhere, LocationRange::Groups(0, 1), {});
  levels.Run();
  levels.Disconnect(link);
  Brought brought;
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(brought.objects.size(), 10u);
  EXPECT_EQ(second.Count("kvcast_relay_fetches_total"), 2u);
}

TEST(RelayFetchUpstream, TheLongestPrefixDecides) {
  Levels levels;
  Levels::Node& all = levels.AddNode();
  Levels::Node& some = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}, {*TrackNamespace::Of({"service", "tenant/model@0"})}});
  levels.Connect(edge, all, 0);
  levels.Connect(edge, some, 1);
  levels.Publish(all, BlockTrack("p"), 1, 5);
  Client& client = levels.Join(edge);
  EXPECT_TRUE(levels.Fetch(client, BlockTrack("p"), LocationRange::Groups(0, 0)).objects.empty());
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
  const TrackName other = *TrackName::Of(*TrackNamespace::Of({"service", "x"}), "t");
  levels.Publish(all, other, 1, 5);
  EXPECT_EQ(levels.Fetch(client, other, LocationRange::Groups(0, 0)).objects.size(), 5u);
}

TEST(RelayFetchUpstream, GivesWhatItCannotKeep) {
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}}, 200'000);
  levels.Connect(edge, origin);
  const TrackName track = BlockTrack("p");
  levels.Publish(origin, track, 2, 3, 300'000);
  Client& client = levels.Join(edge);
  const Brought brought = levels.Fetch(client, track, LocationRange::Groups(0, 1));
  ASSERT_EQ(brought.objects.size(), 6u);
  EXPECT_EQ(brought.objects[5].payload.ToString(), PayloadAt(track, {1, 2}, 300'000));
  EXPECT_EQ(edge.Count(kFetches), 1u);
}

// A thousand misses over three levels: one fetch on each.
TEST(RelayFetchUpstream, AThousandMissesAreOneFetchPerLevel) {
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& middle = levels.AddNode({{}});
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(middle, origin);
  levels.Connect(edge, middle);
  const TrackName track = BlockTrack("p");
  levels.Publish(origin, track, 1, 1);
  std::vector<Client*> clients;
  std::vector<RequestId> requests;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(&levels.Join(edge));
  }
  levels.Run();
  for (size_t i = 0; i < 1000; ++i) {
    requests.push_back(*(*clients[i % 4])->Fetch(track, {{0, 0}, {0, 0}}, {}));
  }
  levels.Run();
  for (size_t i = 0; i < 1000; ++i) {
    Brought brought;
    brought.TakeFrom(clients[i % 4]->session(), requests[i]);
    ASSERT_EQ(brought.objects.size(), 1u) << i;
  }
  EXPECT_EQ(edge.Count(kFetches), 1u);
  EXPECT_EQ(middle.Count(kFetches), 1u);
  EXPECT_EQ(origin.Count("kvcast_relay_fetches_total"), 1u);
}

// Who reads slowly has the origin wait, and not the edge fill up.
TEST(RelayFetchUpstream, RunsAheadOfASlowReaderOnlySoFar) {
  RelayWorld::Options options = LittleRoom();
  options.relay.limits.upstream_ahead_bytes = 100'000;
  TwoLevels w(options);
  const TrackName track = BlockTrack("long");
  w.levels.Publish(w.origin, track, 20, 10, 10'000);
  Client& client = w.levels.Join(w.edge);
  w.levels.Run();
  const RequestId request = *client->Fetch(track, LocationRange::Groups(0, 19), {});
  w.levels.Run();  // Nobody takes.
  EXPECT_LT(w.edge.Count("kvcast_upstream_bytes_total"), 500'000u);
  Brought brought;
  do {
    brought.TakeFrom(client.session(), request);
  } while (w.levels.Step());
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(brought.objects.size(), 200u);
  EXPECT_EQ(w.edge.Count(kFetches), 1u);
}

TEST(RelayFetchUpstream, WhatMayBeKeptOnlySoLongIsFetchedAgain) {
  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  const TrackName track = BlockTrack("p");
  Client& publisher = levels.Join(origin);
  constexpr uint64_t kMaxCacheDuration = 0x04;
  const RequestId publication =
      *publisher->Publish(track, {}, PropertiesBuilder().Number(kMaxCacheDuration, 60'000).Build());
  publisher.SendGroup(publication, track, 0, 3);
  levels.Run();
  levels.Wait(std::chrono::seconds(30));
  Client& client = levels.Join(edge);
  EXPECT_EQ(levels.Fetch(client, track, {{0, 0}, {0, 2}}).objects.size(), 3u);
  EXPECT_EQ(levels.Fetch(client, track, {{0, 0}, {0, 2}}).objects.size(), 3u);
  EXPECT_EQ(edge.Count(kFetches), 1u);
  levels.Wait(std::chrono::seconds(61));
  (void)levels.Fetch(client, track, {{0, 0}, {0, 2}});
  EXPECT_EQ(edge.Count(kFetches), 2u);
}

// What stood here first stays, and the track is malformed.
TEST(RelayFetchUpstream, WhatContradictsWhatIsHereIsRefused) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  Client& publisher = w.levels.Join(w.edge);
  w.levels.Run();
  w.link->stalled = true;
  const RequestId request = *client->Fetch(w.track, LocationRange::Groups(0, 1), {});
  w.levels.Run();
  const RequestId publication = *publisher->Publish(w.track, {}, {});
  const moqt::StreamId stream = publisher.OpenGroup(publication, 0);
  Object other;
  other.location = {0, 0};
  other.payload = Bytes::Of("something else");
  ASSERT_TRUE(publisher->SendObject(publication, stream, other).ok());
  w.levels.Run();
  w.link->stalled = false;
  w.levels.Run();
  Brought brought;
  brought.TakeFrom(client.session(), request);
  EXPECT_TRUE(brought.objects.empty());
  EXPECT_FALSE(brought.fetch_end && brought.fetch_end->complete);
  EXPECT_EQ(w.edge.Count("kvcast_relay_malformed_tracks_total"), 1u);
}

// A fetch that somebody makes, and what it is to bring.
struct RandomFetch {
  Client* client;
  RequestId request;
  LocationRange range;
  GroupOrder order;
  Brought brought;

  std::vector<Location> Wanted(const std::vector<Location>& all) const {
    std::vector<Location> wanted;
    std::ranges::copy_if(all, std::back_inserter(wanted),
                         [this](Location at) { return range.Contains(at); });
    if (order == GroupOrder::kDescending) {
      std::ranges::stable_sort(wanted, std::greater(), &Location::group);
    }
    return wanted;
  }
  // Only what is as it was published; a range that nobody knows is nowhere.
  std::vector<Location> Found(const TrackName& track) const {
    std::vector<Location> found;
    for (const moqt::FetchItem& item : brought.items) {
      const auto* object = std::get_if<Object>(&item);
      const bool right =
          object != nullptr &&
          object->payload.ToString() == PayloadAt(track, object->location, object->payload.size());
      found.push_back(right ? object->location : Location{kWhole, kWhole});
    }
    return found;
  }
};

// Many at once, in both orders, over holes and ends, at an edge that may keep little: each brings
// what the origin has of its range, in its order, and says that nothing else is there.
TEST(RelayFetchUpstream, EveryFetchBringsAllThatThereIs) {
  for (uint64_t seed = 0; seed < (kSanitized ? 60 : 200); ++seed) {
    Random random(seed);
    RelayWorld::Options options = LittleRoom();
    options.relay.limits.upstream_ahead_bytes = 10'000;
    Levels levels(options);
    Levels::Node& origin = levels.AddNode();
    Levels::Node& edge = levels.AddNode({{}}, seed % 3 == 0 ? 150'000 : 10'000'000);
    levels.Connect(edge, origin);
    const TrackName track = BlockTrack("p");
    Client& publisher = levels.Join(origin);
    const RequestId publication = *publisher->Publish(track, {}, {});
    std::vector<Location> all;
    for (uint64_t group = 0; group < 8; ++group) {
      const uint64_t objects = 1 + random.Below(6);
      publisher.SendGroup(publication, track, group, objects, 8'000);
      for (uint64_t object = 0; object < objects; ++object) {
        all.push_back({group, object});
      }
      levels.Run();
    }
    ASSERT_TRUE(publisher->EndTrack(publication, moqt::DoneCode::kTrackEnded, "").ok());
    levels.Run();
    std::vector<Client*> clients = {&levels.Join(edge), &levels.Join(edge), &levels.Join(edge)};
    std::vector<RandomFetch> fetches;
    for (int i = 0; i < 12; ++i) {
      const Location first = all[random.Below(all.size())];
      const Location last{first.group + random.Below(4),
                          random.Below(3) == 0 ? kWhole : random.Below(8)};
      const LocationRange range{first, std::max(first, last)};
      const GroupOrder order =
          random.Below(2) == 0 ? GroupOrder::kAscending : GroupOrder::kDescending;
      moqt::Parameters parameters;
      parameters.group_order = order;
      Client* const client = clients[random.Below(clients.size())];
      fetches.push_back({client, *(*client)->Fetch(track, range, parameters), range, order, {}});
      for (uint64_t steps = random.Below(30); steps > 0; --steps) {
        levels.Step();
        RandomFetch& lucky = fetches[random.Below(fetches.size())];
        lucky.brought.TakeFrom(lucky.client->session(), lucky.request);
      }
    }
    do {
      for (RandomFetch& fetch : fetches) {
        fetch.brought.TakeFrom(fetch.client->session(), fetch.request);
      }
    } while (levels.Step());
    for (RandomFetch& fetch : fetches) {
      fetch.brought.TakeFrom(fetch.client->session(), fetch.request);
      EXPECT_EQ(fetch.Found(track), fetch.Wanted(all))
          << "seed " << seed << ": " << fetch.range.first.ToString() << fetch.range.last.ToString()
          << " brought " << PlacesOf(fetch.brought);
      EXPECT_TRUE(fetch.brought.fetch_end && fetch.brought.fetch_end->complete) << seed;
    }
    if (seed % 3 != 0) {
      EXPECT_LE(edge.Count(kObjects), all.size()) << seed;
    }
  }
}

TEST(RelayFetchUpstream, TellsWhoWasAskedForWhatIsMissing) {
  TwoLevels w;
  Client& client = w.levels.Join(w.edge);
  const auto miss = [&] { return w.edge.relay.misses().misses().front(); };
  (void)w.levels.Fetch(client, BlockTrack("absent"), LocationRange::Groups(0, 3));
  EXPECT_EQ(miss().reason, Miss::Reason::kNoTrack);
  ASSERT_EQ(miss().upstreams.size(), 1u);
  EXPECT_EQ(miss().upstreams[0].upstream, "upstream");
  EXPECT_EQ(miss().upstreams[0].outcome, UpstreamTrial::Outcome::kRefused);

  w.link->stalled = true;
  const TrackName silent = BlockTrack("silent");
  (void)*client->Fetch(silent, LocationRange::Groups(0, 3), {});
  w.levels.Run();
  w.levels.Wait(std::chrono::seconds(5));
  EXPECT_EQ(miss().track, silent);
  ASSERT_EQ(miss().upstreams.size(), 1u);
  EXPECT_EQ(miss().upstreams[0].outcome, UpstreamTrial::Outcome::kTooLate);
  EXPECT_EQ(miss().upstreams[0].took, std::chrono::seconds(5));

  w.levels.Disconnect(*w.link);
  const TrackName away = BlockTrack("away");
  (void)w.levels.Fetch(client, away, LocationRange::Groups(0, 3));
  EXPECT_EQ(miss().track, away);
  ASSERT_EQ(miss().upstreams.size(), 1u);
  EXPECT_EQ(miss().upstreams[0].outcome, UpstreamTrial::Outcome::kNotConnected);
}

}  // namespace
}  // namespace kvcast::relay
