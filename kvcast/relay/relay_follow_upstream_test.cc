// What a node hears of from those upstream, and passes on.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kvcast/relay/cache_names_test.h"
#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

const char* const kAsked = "kvcast_upstream_fetches_total";

struct OriginAndEdge {
  OriginAndEdge() { link = &levels.Connect(edge, origin); }

  // Runs until nothing moves, the follower too.
  void Run(CatalogFollower& follower) {
    for (int i = 0; i < 4; ++i) {
      levels.Run();
      follower.Follow();
    }
    levels.Run();
    follower.Follow();
  }

  Levels levels;
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  Levels::Link* link = nullptr;
  TrackName track = BlockTrack("p");
};

TrackName LiveBelow(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"live", "a"}), name);
}

// Most of the catalog was written before anybody at the edge asked for it.
TEST(RelayFollowUpstream, OneSubscriptionAtTheEdgeLearnsWhatTheOriginHas) {
  OriginAndEdge w;
  w.levels.Publish(w.origin, w.track, 3, 2);
  Client& client = w.levels.Join(w.edge);
  CatalogFollower follower(client);
  w.Run(follower);
  EXPECT_EQ(follower.catalog_count(), 1u);
  EXPECT_EQ(follower.Listed(w.track).size(), 3u);
  // And goes on learning.
  const TrackName later = BlockTrack("q");
  w.levels.Publish(w.origin, later, 2, 2);
  w.Run(follower);
  EXPECT_EQ(follower.Listed(later).size(), 2u);
  // What is loaded is listed by the edge itself from then on.
  EXPECT_EQ(w.levels.Fetch(client, w.track, LocationRange::Groups(0, 2)).objects.size(), 6u);
  w.Run(follower);
  EXPECT_EQ(follower.catalog_count(), 2u);
  EXPECT_EQ(w.edge.relay.listed_blocks(), 3u);
}

// What is here would be taken for all there is: it is told with what is upstream, or after a while.
TEST(RelayFollowUpstream, AnswersOnceThoseUpstreamHave) {
  OriginAndEdge w;
  w.levels.Publish(w.edge, w.track, 1, 2);
  Client& client = w.levels.Join(w.edge);
  w.levels.Run();
  w.link->stalled = true;
  (void)*client->SubscribeTracks(CatalogPrefix(), {});
  w.levels.Run();
  EXPECT_TRUE(client.Take<moqt::RequestAccepted>().empty());
  EXPECT_TRUE(client.Take<moqt::PublishReceived>().empty());
  w.link->stalled = false;
  w.levels.Run();
  EXPECT_EQ(client.Take<moqt::RequestAccepted>().size(), 1u);
  EXPECT_EQ(client.Take<moqt::PublishReceived>().size(), 1u);
  // One that is silent is waited for no longer than that.
  w.link->stalled = true;
  Client& other = w.levels.Join(w.edge);
  (void)*other->SubscribeTracks(*TrackNamespace::Of({"service", "another"}), {});
  w.levels.Run();
  EXPECT_TRUE(other.Take<moqt::RequestAccepted>().empty());
  w.levels.Wait(std::chrono::seconds(2));
  EXPECT_EQ(other.Take<moqt::RequestAccepted>().size(), 1u);
}

// The origin needs the room of one that lists nothing, and writes it anew later.
TEST(RelayFollowUpstream, ACatalogThatGoesAndComesAgainIsHeardOfAgain) {
  RelayWorld::Options options;
  options.relay.limits.scopes_max = 2;
  Levels levels(options);
  Levels::Node& origin = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}});
  levels.Connect(edge, origin);
  Client& client = levels.Join(edge);
  const TrackName cache = CacheOf("acme/llama@0", "p");
  (void)*client->SubscribeTracks(*cache.space().First(2).Join(*TrackNamespace::Of({"catalog"})),
                                 {});
  // What the client hears of the catalog: its newest epoch, and whether that can be read.
  const auto hear = [&] {
    const auto event = client.One<moqt::PublishReceived>();
    EXPECT_TRUE(client->AcceptPublish(event.request, {}).ok());
    const uint64_t epoch = event.parameters.largest_object.value_or(Location{}).group;
    EXPECT_FALSE(
        levels.Fetch(client, event.track, LocationRange::Groups(epoch, epoch)).objects.empty());
    return epoch;
  };
  levels.Publish(origin, cache, 1, 1);
  EXPECT_EQ(hear(), 0u);
  origin.relay.Forget(TenantOnly("acme"), levels.now());
  levels.Run();
  EXPECT_TRUE(client.Take<moqt::PublishDoneReceived>().empty());
  for (const char* tenant : {"globex", "hooli"}) {
    levels.Publish(origin, CacheOf(std::string(tenant) + "/llama@0", "p"), 1, 1);
    origin.relay.Forget(TenantOnly(tenant), levels.now());
    levels.Run();
  }
  EXPECT_EQ(client.Take<moqt::PublishDoneReceived>().size(), 1u);
  levels.Publish(origin, CacheOf("acme/llama@0", "q"), 1, 1);
  EXPECT_GT(hear(), 0u);
}

TEST(RelayFollowUpstream, ManyFollowersAreOneSubscriptionUpstream) {
  OriginAndEdge w;
  w.levels.Publish(w.origin, w.track, 3, 2);
  Client& one = w.levels.Join(w.edge);
  Client& two = w.levels.Join(w.edge);
  CatalogFollower first(one);
  CatalogFollower second(two);
  w.Run(first);
  w.Run(second);
  EXPECT_EQ(first.Listed(w.track), second.Listed(w.track));
  EXPECT_EQ(w.origin.Count("kvcast_relay_subscriptions_total"), 1u);
  EXPECT_EQ(w.edge.Count(kAsked), 1u);
}

// Who comes later finds the catalogs there, and what their followers leave behind goes after a
// while.
TEST(RelayFollowUpstream, FollowsForAWhileWhatNobodyFollows) {
  OriginAndEdge w;
  w.levels.Publish(w.origin, w.track, 1, 2);
  Client& one = w.levels.Join(w.edge);
  CatalogFollower first(one);
  w.Run(first);
  w.levels.Leave(one);
  w.link->stalled = true;
  Client& two = w.levels.Join(w.edge);
  CatalogFollower second(two);
  w.Run(second);
  EXPECT_EQ(second.Listed(w.track).size(), 1u);
  w.link->stalled = false;
  w.levels.Leave(two);
  EXPECT_EQ(w.link->client.untaken_bytes(), 0u);
  w.levels.Wait(std::chrono::minutes(11));
  const uint64_t sent = w.origin.Count("kvcast_relay_sent_objects_total");
  w.levels.Publish(w.origin, BlockTrack("q"), 1, 2);
  EXPECT_EQ(w.origin.Count("kvcast_relay_sent_objects_total"), sent);
}

TEST(RelayFollowUpstream, CatalogsOfALostUpstreamEnd) {
  OriginAndEdge w;
  w.levels.Publish(w.origin, w.track, 1, 2);
  Client& client = w.levels.Join(w.edge);
  CatalogFollower follower(client);
  w.Run(follower);
  (void)client.Take<moqt::PublishDoneReceived>();
  w.levels.Disconnect(*w.link);
  EXPECT_EQ(client.Take<moqt::PublishDoneReceived>().size(), 1u);
  // It is followed again when it is back.
  w.link = &w.levels.Connect(w.edge, w.origin);
  w.Run(follower);
  EXPECT_EQ(follower.catalog_count(), 2u);
}

TEST(RelayFollowUpstream, ASubscriptionIsPassedUpOnce) {
  OriginAndEdge w;
  Client& publisher = w.levels.Join(w.origin);
  const RequestId publication = *publisher->Publish(LiveBelow("t"), {}, {});
  Client& one = w.levels.Join(w.edge);
  Client& two = w.levels.Join(w.edge);
  w.levels.Run();
  const RequestId first = *one->Subscribe(LiveBelow("t"), {});
  const RequestId second = *two->Subscribe(LiveBelow("t"), {});
  w.levels.Run();
  publisher.SendGroup(publication, LiveBelow("t"), 0, 3);
  w.levels.Run();
  Brought at_one;
  Brought at_two;
  at_one.TakeFrom(one.session(), first);
  at_two.TakeFrom(two.session(), second);
  EXPECT_EQ(at_one.objects.size(), 3u);
  EXPECT_EQ(at_two.objects.size(), 3u);
  EXPECT_EQ(w.origin.Count("kvcast_relay_subscriptions_total"), 1u);
  // A joining fetch finds upstream what came before.
  Client& late = w.levels.Join(w.edge);
  const RequestId third = *late->Subscribe(LiveBelow("t"), {});
  w.levels.Run();
  const RequestId joined = *late->FetchJoining(third, moqt::Fetch::Type::kRelativeJoining, 0, {});
  w.levels.Run();
  Brought at_late;
  at_late.TakeFrom(late.session(), joined);
  EXPECT_EQ(at_late.objects.size(), 3u);
}

// What is here would be taken for all there is, and nobody would bring what comes: a node below
// that followed it so ended fetches too early for ever.
TEST(RelayFollowUpstream, ASubscriptionIsRefusedWhileThoseUpstreamAreOutOfReach) {
  OriginAndEdge w;
  Client& publisher = w.levels.Join(w.origin);
  const RequestId publication = *publisher->Publish(LiveBelow("t"), {}, {});
  publisher.SendGroup(publication, LiveBelow("t"), 0, 3);
  Client& client = w.levels.Join(w.edge);
  w.levels.Run();
  EXPECT_EQ(w.levels.Fetch(client, LiveBelow("t"), LocationRange::Groups(0, 0)).objects.size(), 3u);
  w.levels.Disconnect(*w.link);
  (void)*client->Subscribe(LiveBelow("t"), {});
  w.levels.Run();
  const auto refused = client.Take<moqt::RequestRefused>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.code, moqt::RequestCode::kTimeout);
  EXPECT_TRUE(refused[0].error.retry_after_ms.has_value());
  // It is followed once they are back.
  w.link = &w.levels.Connect(w.edge, w.origin);
  const RequestId again = *client->Subscribe(LiveBelow("t"), {});
  w.levels.Run();
  publisher.SendGroup(publication, LiveBelow("t"), 1, 2);
  w.levels.Run();
  Brought brought;
  brought.TakeFrom(client.session(), again);
  EXPECT_EQ(brought.objects.size(), 2u);
}

// Whoever follows gets an object also if somebody else's fetch has brought it first, and is not
// told that its group ends before it.
TEST(RelayFollowUpstream, WhatAFetchBringsFirstIsStillNewToThoseWhoFollow) {
  int fetched_first = 0;
  for (int pause = 0; pause < 120; ++pause) {
    RelayWorld::Options options;
    options.connection.cut_max = 60;
    Levels levels(options);
    Levels::Node& origin = levels.AddNode();
    Levels::Node& edge = levels.AddNode({{}});
    levels.Connect(edge, origin);
    Client& publisher = levels.Join(origin);
    Client& follower = levels.Join(edge);
    Client& reader = levels.Join(edge);
    const RequestId publication = *publisher->Publish(LiveBelow("t"), {}, {});
    levels.Run();
    const RequestId followed = *follower->Subscribe(LiveBelow("t"), {});
    levels.Run();
    // The second group overtakes the first, in which a fetch then finds a hole.
    publisher.SendGroup(publication, LiveBelow("t"), 0, 4, 300);
    publisher.SendGroup(publication, LiveBelow("t"), 1, 1, 10);
    for (int i = 0; i < pause; ++i) {
      (void)levels.Step();
    }
    (void)levels.Fetch(reader, LiveBelow("t"), LocationRange::Groups(0, 1));
    levels.Run();
    fetched_first += edge.Count("kvcast_upstream_objects_total") > 0 ? 1 : 0;
    Brought brought;
    brought.TakeFrom(follower.session(), followed);
    EXPECT_EQ(brought.objects.size(), 5u) << "after " << pause << " steps";
  }
  EXPECT_GT(fetched_first, 5);
}

TEST(RelayFollowUpstream, ASubscriptionGoesOnAtTheNextUpstream) {
  Levels levels;
  Levels::Node& first = levels.AddNode();
  Levels::Node& second = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}, {}});
  Levels::Link& link = levels.Connect(edge, first, 0);
  levels.Connect(edge, second, 1);
  Client& at_first = levels.Join(first);
  Client& at_second = levels.Join(second);
  (void)*at_first->Publish(LiveBelow("t"), {}, {});
  const RequestId publication = *at_second->Publish(LiveBelow("t"), {}, {});
  const RequestId only = *at_second->Publish(LiveBelow("only"), {}, {});
  Client& client = levels.Join(edge);
  levels.Run();
  const RequestId subscribed = *client->Subscribe(LiveBelow("t"), {});
  const RequestId refused_first = *client->Subscribe(LiveBelow("only"), {});
  levels.Run();
  levels.Disconnect(link);
  at_second.SendGroup(publication, LiveBelow("t"), 0, 3);
  at_second.SendGroup(only, LiveBelow("only"), 0, 2);
  levels.Run();
  Brought brought;
  brought.TakeFrom(client.session(), subscribed);
  EXPECT_EQ(brought.objects.size(), 3u);
  Brought other;
  other.TakeFrom(client.session(), refused_first);
  EXPECT_EQ(other.objects.size(), 2u);
}

// What came to the second meanwhile has not come to those who followed the first: nobody is to take
// the end of what they got for the end of all there is.
TEST(RelayFollowUpstream, WhoeverMissedAChangeOfUpstreamsIsNotToldOfAWholeTrack) {
  Levels levels;
  Levels::Node& first = levels.AddNode();
  Levels::Node& second = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}, {}});
  Levels::Link& link = levels.Connect(edge, first, 0);
  levels.Connect(edge, second, 1);
  Client& at_first = levels.Join(first);
  Client& at_second = levels.Join(second);
  (void)*at_first->Publish(LiveBelow("t"), {}, {});
  const RequestId publication = *at_second->Publish(LiveBelow("t"), {}, {});
  Client& client = levels.Join(edge);
  levels.Run();
  const RequestId subscribed = *client->Subscribe(LiveBelow("t"), {});
  levels.Run();
  at_second.SendGroup(publication, LiveBelow("t"), 0, 3);
  levels.Run();
  levels.Disconnect(link);
  ASSERT_TRUE(at_second->EndTrack(publication, moqt::DoneCode::kTrackEnded, "").ok());
  levels.Run();
  Brought brought;
  brought.TakeFrom(client.session(), subscribed);
  EXPECT_TRUE(brought.objects.empty());
  const moqt::PublishDone done = client.One<moqt::PublishDoneReceived>().done;
  EXPECT_EQ(done.code, moqt::DoneCode::kTrackEnded);
  EXPECT_EQ(done.streams, moqt::PublishDone::kStreamsUnknown);
}

TEST(RelayFollowUpstream, AStatusIsAskedForOnce) {
  OriginAndEdge w;
  w.levels.Publish(w.origin, w.track, 3, 2);
  Client& one = w.levels.Join(w.edge);
  Client& two = w.levels.Join(w.edge);
  w.levels.Run();
  for (Client* client : {&one, &two}) {
    (void)*(*client)->AskTrackStatus(w.track, {});
    (void)*(*client)->AskTrackStatus(BlockTrack("none"), {});
  }
  w.levels.Run();
  for (Client* client : {&one, &two}) {
    EXPECT_EQ(client->One<moqt::RequestAccepted>().parameters.largest_object, (Location{2, 1}));
    EXPECT_EQ(client->One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
  }
  // Part of it being here does not make it end here.
  (void)w.levels.Fetch(one, w.track, LocationRange::Groups(0, 0));
  (void)*one->AskTrackStatus(w.track, {});
  w.levels.Run();
  EXPECT_EQ(one.One<moqt::RequestAccepted>().parameters.largest_object, (Location{2, 1}));
}

TEST(RelayFollowUpstream, NamespacesArePassedDown) {
  OriginAndEdge w;
  Client& publisher = w.levels.Join(w.origin);
  (void)*publisher->PublishNamespace(*TrackNamespace::Of({"live", "a"}), {});
  Client& client = w.levels.Join(w.edge);
  (void)*client->SubscribeNamespace(*TrackNamespace::Of({"live"}), {});
  w.levels.Run();
  EXPECT_EQ(client.One<moqt::NamespaceReceived>().space, *TrackNamespace::Of({"live", "a"}));
  w.levels.Disconnect(*w.link);
  EXPECT_EQ(client.One<moqt::NamespaceWithdrawn>().space, *TrackNamespace::Of({"live", "a"}));
}

// Of a ring one link is given up, and what is asked finds an end.
TEST(RelayFollowUpstream, ARingIsBroken) {
  for (const size_t members : {2u, 3u, 5u}) {
    Levels levels;
    std::vector<Levels::Node*> nodes;
    for (size_t i = 0; i < members; ++i) {
      nodes.push_back(&levels.AddNode({{}}));
    }
    for (size_t i = 0; i < members; ++i) {
      levels.Connect(*nodes[i], *nodes[(i + 1) % members]);
    }
    levels.Run();
    levels.Wait(std::chrono::minutes(2));
    size_t given_up = 0;
    for (Levels::Node* node : nodes) {
      given_up += node->relay.TakeRings().size();
    }
    EXPECT_EQ(given_up, 1u) << members;
    Client& client = levels.Join(*nodes[0]);
    (void)levels.Fetch(client, BlockTrack("none"), LocationRange::Groups(0, 3));
    EXPECT_EQ(client.Take<moqt::RequestRefused>().size(), 1u) << members;
  }
}

// Before it is found, a ring costs who asks some patience, and nobody a storm.
TEST(RelayFollowUpstream, ARingThatIsNotFoundYetEndsInARefusal) {
  RelayWorld::Options options;
  Levels levels(options);
  Levels::Node& one = levels.AddNode({{}});
  Levels::Node& two = levels.AddNode({{}});
  levels.Connect(one, two);
  Levels::Link& back = levels.Connect(two, one);
  (void)back;
  Client& client = levels.Join(one);
  (void)*client->Fetch(BlockTrack("none"), LocationRange::Groups(0, 3), {});
  levels.Run();
  for (int i = 0; i < 8; ++i) {
    levels.Wait(std::chrono::seconds(2));
  }
  EXPECT_EQ(client.Take<moqt::RequestRefused>().size(), 1u);
  EXPECT_LE(one.Count(kAsked) + two.Count(kAsked), 2u);
}

// What an upstream asks us for is not asked of another upstream.
TEST(RelayFollowUpstream, WhatCameDownDoesNotGoUpAgain) {
  Levels levels;
  Levels::Node& first = levels.AddNode();
  Levels::Node& second = levels.AddNode();
  Levels::Node& edge = levels.AddNode({{}, {}});
  Levels::Link& link = levels.Connect(edge, first, 0);
  levels.Connect(edge, second, 1);
  levels.Publish(second, BlockTrack("p"), 1, 1);
  const uint64_t before = edge.Count(kAsked);
  // The first asks by the session that the edge has opened.
  (void)*link.server.Fetch(BlockTrack("p"), LocationRange::Groups(0, 0), {});
  levels.Run();
  EXPECT_EQ(edge.Count(kAsked), before);
}

}  // namespace
}  // namespace kvcast::relay
