// What a relay makes of namespaces that peers tell of, and of objects that come alone.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

TrackNamespace Space(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}
TrackName Live(std::string_view name) { return *TrackName::Of(Space({"live", "a"}), name); }

TEST(RelayNamespaces, AreToldToWhoSubscribed) {
  RelayWorld world;
  Client& early = world.Join();
  Client& publisher = world.Join();
  Client& other = world.Join();
  (void)*early->SubscribeNamespace(Space({"live"}), {});
  world.Run();
  const RequestId first = *publisher->PublishNamespace(Space({"live", "a"}), {});
  const RequestId second = *other->PublishNamespace(Space({"live", "a"}), {});
  (void)*other->PublishNamespace(Space({"elsewhere"}), {});
  world.Run();
  EXPECT_EQ(early.One<moqt::NamespaceReceived>().space, Space({"live", "a"}));
  Client& late = world.Join();
  (void)*late->SubscribeNamespace({}, {});
  world.Run();
  EXPECT_EQ(late.Take<moqt::NamespaceReceived>().size(), 2u);
  // It is there for as long as anyone has it.
  publisher->Cancel(first, moqt::ResetCode::kCancelled);
  world.Run();
  EXPECT_TRUE(early.Take<moqt::NamespaceWithdrawn>().empty());
  other->Cancel(second, moqt::ResetCode::kCancelled);
  world.Run();
  EXPECT_EQ(early.One<moqt::NamespaceWithdrawn>().space, Space({"live", "a"}));
}

TEST(RelayNamespaces, AreGoneWithTheirPublisher) {
  RelayWorld world;
  Client& subscriber = world.Join();
  Client& publisher = world.Join();
  (void)*subscriber->SubscribeNamespace({}, {});
  (void)*publisher->PublishNamespace(Space({"live"}), {});
  world.Run();
  EXPECT_EQ(subscriber.Take<moqt::NamespaceReceived>().size(), 1u);
  world.Leave(publisher);
  world.Run();
  EXPECT_EQ(subscriber.Take<moqt::NamespaceWithdrawn>().size(), 1u);
}

TEST(RelayNamespaces, AreToldAnewBelowAnotherPrefix) {
  RelayWorld world;
  Client& subscriber = world.Join();
  Client& publisher = world.Join();
  const RequestId request = *subscriber->SubscribeNamespace(Space({"x"}), {});
  (void)*publisher->PublishNamespace(Space({"live", "a"}), {});
  world.Run();
  EXPECT_TRUE(subscriber.Take<moqt::NamespaceReceived>().empty());
  moqt::Parameters moved;
  moved.namespace_prefix = Space({"live"});
  ASSERT_TRUE(subscriber->Update(request, moved).ok());
  world.Run();
  EXPECT_EQ(subscriber.One<moqt::NamespaceReceived>().space, Space({"live", "a"}));
}

// All tracks below the new prefix are published, whoever publishes them here.
TEST(RelayNamespaces, TracksBelowAnotherPrefixArePublished) {
  RelayWorld world;
  Client& subscriber = world.Join();
  Client& publisher = world.Join();
  const RequestId request = *subscriber->SubscribeTracks(Space({"x"}), {});
  (void)*publisher->Publish(Live("t"), {}, {});
  world.Run();
  EXPECT_TRUE(subscriber.Take<moqt::PublishReceived>().empty());
  moqt::Parameters moved;
  moved.namespace_prefix = Space({"live"});
  ASSERT_TRUE(subscriber->Update(request, moved).ok());
  world.Run();
  EXPECT_EQ(subscriber.One<moqt::PublishReceived>().track, Live("t"));
}

// A publisher that told of its namespace, and two who want a track of it.
struct Upstream {
  Upstream() {
    (void)*publisher->PublishNamespace(Space({"live"}), {});
    world.Run();
  }
  RelayWorld world;
  Client& publisher = world.Join();
  Client& one = world.Join();
  Client& two = world.Join();
};

TEST(RelayUpstream, AsksOnceForManyAndForwardsToAll) {
  Upstream w;
  const RequestId first = *w.one->Subscribe(Live("t"), {});
  const RequestId second = *w.two->Subscribe(Live("t"), {});
  w.world.Run();
  EXPECT_TRUE(w.one.Take<moqt::RequestAccepted>().empty());
  const auto asked = w.publisher.One<moqt::SubscribeReceived>();
  EXPECT_EQ(asked.track, Live("t"));
  moqt::Parameters largest;
  largest.largest_object = Location{4, 1};
  ASSERT_TRUE(w.publisher->AcceptSubscribe(asked.request, largest, {}).ok());
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestAccepted>().parameters.largest_object, (Location{4, 1}));
  w.publisher.SendGroup(asked.request, Live("t"), 5, 3);
  w.world.Run();
  for (const auto& [client, request] : {std::pair(&w.one, first), std::pair(&w.two, second)}) {
    Brought brought;
    brought.TakeFrom(client->session(), request);
    EXPECT_EQ(brought.objects.size(), 3u);
  }
  // The last who leaves takes the subscription along.
  w.one->Cancel(first, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_TRUE(w.publisher.Take<moqt::RequestCancelled>().empty());
  w.two->Cancel(second, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_EQ(w.publisher.One<moqt::RequestCancelled>().request, asked.request);
}

TEST(RelayUpstream, PassesARefusalOn) {
  Upstream w;
  (void)*w.one->Subscribe(Live("t"), {});
  w.world.Run();
  const auto asked = w.publisher.One<moqt::SubscribeReceived>();
  ASSERT_TRUE(
      w.publisher->RefuseRequest(asked.request, {moqt::RequestCode::kExcessiveLoad, 70, "no", {}})
          .ok());
  w.world.Run();
  const moqt::RequestError heard = w.one.One<moqt::RequestRefused>().error;
  EXPECT_EQ(heard.code, moqt::RequestCode::kExcessiveLoad);
  EXPECT_EQ(heard.retry_after_ms, 70u);
  EXPECT_EQ(heard.reason, "no");
  (void)*w.one->Subscribe(*TrackName::Of(Space({"nobodys"}), "t"), {});
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kDoesNotExist);
}

// The publisher publishes a track just when it is asked for it: whatever overtakes what, those who
// wait get it from there.
TEST(RelayUpstream, TakesAPublicationThatCrossesItsRequest) {
  size_t crossed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RelayWorld::Options options;
    options.seed = seed;
    options.connection.cut_max = 8;
    RelayWorld world(options);
    Client& publisher = world.Join();
    Client& subscriber = world.Join();
    (void)*publisher->PublishNamespace(Space({"live"}), {});
    world.Run();
    const RequestId subscribed = *subscriber->Subscribe(Live("t"), {});
    for (uint64_t step = 0; step < seed % 20; ++step) {
      (void)world.Step();
    }
    if (!publisher.Take<moqt::SubscribeReceived>().empty()) {
      continue;  // It was asked before it could publish.
    }
    const RequestId published = *publisher->Publish(Live("t"), {}, {});
    world.Run();
    ++crossed;
    ASSERT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u) << "seed " << seed;
    publisher.SendGroup(published, Live("t"), 5, 3);
    world.Run();
    Brought brought;
    brought.TakeFrom(subscriber.session(), subscribed);
    EXPECT_EQ(brought.objects.size(), 3u) << "seed " << seed;
  }
  EXPECT_GT(crossed, 50u);
}

TEST(RelayUpstream, WaitsOnlySoLongForAPublicationThatCrossedItsRequest) {
  Upstream w;
  (void)*w.one->Subscribe(Live("t"), {});
  w.world.Run();
  const auto asked = w.publisher.One<moqt::SubscribeReceived>();
  const moqt::RequestError crossed{moqt::RequestCode::kDuplicateSubscription, {}, "", {}};
  ASSERT_TRUE(w.publisher->RefuseRequest(asked.request, crossed).ok());
  w.world.Run();
  EXPECT_TRUE(w.one.Take<moqt::RequestRefused>().empty());
  ASSERT_TRUE(w.world.relay().deadline().has_value());
  w.world.Wait(*w.world.relay().deadline() - w.world.now());
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kTimeout);
  EXPECT_FALSE(w.world.relay().deadline().has_value());
}

// What is under way goes on; what is new is asked of others, or of nobody.
TEST(RelayUpstream, AsksNothingNewOfAPeerThatIsLeaving) {
  Upstream w;
  const RequestId first = *w.one->Subscribe(Live("t"), {});
  w.world.Run();
  const auto asked = w.publisher.One<moqt::SubscribeReceived>();
  ASSERT_TRUE(w.publisher->AcceptSubscribe(asked.request, {}, {}).ok());
  (void)*w.publisher->SubscribeTracks(Space({"x"}), {});
  w.world.Run();
  ASSERT_TRUE(w.publisher->SendGoAway("", 0).ok());
  w.world.Run();
  w.publisher.SendGroup(asked.request, Live("t"), 5, 3);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.one.session(), first);
  EXPECT_EQ(brought.objects.size(), 3u);

  (void)*w.one->Subscribe(Live("u"), {});
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kDoesNotExist);
  Client& other = w.world.Join();
  (void)*other->PublishNamespace(Space({"live"}), {});
  w.world.Run();
  (void)*w.one->Subscribe(Live("u"), {});
  (void)*other->Publish(*TrackName::Of(Space({"x"}), "t"), {}, {});
  w.world.Run();
  std::set<TrackName> asked_of_other;
  for (const auto& event : other.Take<moqt::SubscribeReceived>()) {
    asked_of_other.insert(event.track);
  }
  EXPECT_EQ(asked_of_other, (std::set<TrackName>{Live("t"), Live("u")}));  // `t` is followed.
  EXPECT_TRUE(w.publisher.Take<moqt::SubscribeReceived>().empty());
  EXPECT_TRUE(w.publisher.Take<moqt::PublishReceived>().empty());
}

TEST(RelayUpstream, SurvivesThatAnyoneLeavesAtAnyPoint) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Upstream w;
    (void)*w.one->Subscribe(Live("t"), {});
    (void)*w.two->Subscribe(Live("t"), {});
    Client* const who[] = {&w.publisher, &w.one, &w.two};
    for (uint64_t step = 0; step < seed / 3 && w.world.Step(); ++step) {
      for (const auto& asked : w.publisher.Take<moqt::SubscribeReceived>()) {
        (void)w.publisher->AcceptSubscribe(asked.request, {}, {}).ok();
      }
    }
    w.world.Leave(*who[seed % 3]);
    w.world.Run();
    if (seed % 3 == 0) {
      EXPECT_TRUE(w.one.Take<moqt::RequestRefused>().size() +
                      w.one.Take<moqt::RequestAccepted>().size() >
                  0)
          << "seed " << seed;
    }
    if (seed % 3 != 2) {  // Who has left is gone.
      EXPECT_FALSE(w.two.session().closed());
    }
  }
}

// Objects that come alone are forwarded alone, kept, and fetched as what they were.
TEST(RelayDatagrams, AreForwardedAndKept) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  const RequestId published = *publisher->Publish(Live("t"), {}, {});
  world.Run();
  const RequestId subscribed = *subscriber->Subscribe(Live("t"), {});
  world.Run();
  Object object = ObjectAt(Live("t"), {3, 1});
  object.forwarding = Forwarding::kDatagram;
  object.priority = 44;
  ASSERT_TRUE(publisher->SendDatagramObject(published, object, true).ok());
  world.Run();
  Brought live;
  live.TakeFrom(subscriber.session(), subscribed);
  ASSERT_EQ(live.objects.size(), 1u);
  EXPECT_TRUE(live.objects[0].ConsistentWith(object));
  EXPECT_EQ(live.objects[0].forwarding, Forwarding::kDatagram);
  const Brought fetched = world.Fetch(subscriber, Live("t"), LocationRange::Groups(3, 3));
  ASSERT_EQ(fetched.objects.size(), 1u);
  EXPECT_EQ(fetched.objects[0].forwarding, Forwarding::kDatagram);
  EXPECT_EQ(fetched.objects[0].priority, 44);
}

// What came before a subscription is fetched by joining it.
TEST(RelayJoins, ServeWhatASubscriptionMissed) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  const RequestId published = *publisher->Publish(Live("t"), {}, {});
  publisher.SendGroup(published, Live("t"), 0, 2);
  publisher.SendGroup(published, Live("t"), 1, 3);
  world.Run();
  const RequestId subscribed = *subscriber->Subscribe(Live("t"), {});
  const RequestId fetch =
      *subscriber->FetchJoining(subscribed, moqt::Fetch::Type::kRelativeJoining, 1, {});
  world.Run();
  publisher.SendGroup(published, Live("t"), 2, 2);
  world.Run();
  Brought before;
  before.TakeFrom(subscriber.session(), fetch);
  EXPECT_EQ(before.objects.size(), 5u);
  EXPECT_TRUE(before.fetch_end && before.fetch_end->complete);
  Brought after;
  after.TakeFrom(subscriber.session(), subscribed);
  EXPECT_EQ(after.objects.size(), 2u);
}

}  // namespace
}  // namespace kvcast::relay
