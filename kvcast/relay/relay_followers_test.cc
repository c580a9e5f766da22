// Those who want to hear of all tracks, or all namespaces, below a prefix.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

TrackNamespace FollowedSpace(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}
TrackName FollowedTrack(std::string_view name) {
  return *TrackName::Of(FollowedSpace({"live", "a"}), name);
}

// A track that is asked of who announced its namespace.
struct AskedTrack {
  void Ask() {
    (void)*announcer->PublishNamespace(FollowedSpace({"live"}), {});
    world.Run();
    (void)*subscriber->Subscribe(FollowedTrack("t"), {});
    world.Run();
    const RequestId asked = announcer.One<moqt::SubscribeReceived>().request;
    ASSERT_TRUE(announcer->AcceptSubscribe(asked, {}, {}).ok());
    world.Run();
    ASSERT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u);
  }
  void Follow() {
    (void)*follower->SubscribeTracks(FollowedSpace({"live"}), {});
    world.Run();
  }
  // How often the follower hears of the track.
  size_t Heard() {
    world.Run();
    const auto events = follower.Take<moqt::PublishReceived>();
    for (const auto& event : events) {
      EXPECT_EQ(event.track, FollowedTrack("t"));
      EXPECT_TRUE(follower->AcceptPublish(event.request, {}).ok());
    }
    world.Run();
    return events.size();
  }

  RelayWorld world;
  Client& announcer = world.Join();
  Client& subscriber = world.Join();
  Client& follower = world.Join();
};

TEST(RelayFollowers, HearOfAPublishedTrackThoughItWasAskedForBefore) {
  AskedTrack w;
  w.Follow();
  w.Ask();
  EXPECT_EQ(w.Heard(), 0u);  // Nobody has published it.
  Client& publisher = w.world.Join();
  const RequestId published = *publisher->Publish(FollowedTrack("t"), {}, {});
  EXPECT_EQ(w.Heard(), 1u);
  publisher.SendGroup(published, FollowedTrack("t"), 0, 3);
  Client& another = w.world.Join();
  (void)*another->Publish(FollowedTrack("t"), {}, {});
  EXPECT_EQ(w.Heard(), 0u);
  w.world.Leave(publisher);
  w.world.Leave(w.announcer);
  EXPECT_EQ(w.Heard(), 0u);
  EXPECT_EQ(w.follower.Take<moqt::PublishDoneReceived>().size(), 0u);
}

TEST(RelayFollowers, HearOnceOfATrackThatWasAskedForAndIsPublishedThen) {
  AskedTrack w;
  w.Ask();
  w.Follow();
  EXPECT_EQ(w.Heard(), 1u);
  (void)*w.world.Join()->Publish(FollowedTrack("t"), {}, {});
  EXPECT_EQ(w.Heard(), 0u);
}

TEST(RelayFollowers, HearNothingOnceTheyHaveMovedOrGone) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& follower = world.Join();
  const RequestId tracks = *follower->SubscribeTracks(FollowedSpace({"live"}), {});
  const RequestId spaces = *follower->SubscribeNamespace(FollowedSpace({"live"}), {});
  world.Run();
  const auto tell = [&](std::string_view name) {
    (void)*publisher->Publish(FollowedTrack(name), {}, {});
    (void)*publisher->PublishNamespace(FollowedSpace({"live", name}), {});
    world.Run();
    return std::pair(follower.Take<moqt::PublishReceived>().size(),
                     follower.Take<moqt::NamespaceReceived>().size());
  };
  EXPECT_EQ(tell("one"), std::pair(size_t{1}, size_t{1}));
  moqt::Parameters moved;
  moved.namespace_prefix = FollowedSpace({"elsewhere"});
  ASSERT_TRUE(follower->Update(tracks, moved).ok() && follower->Update(spaces, moved).ok());
  world.Run();
  EXPECT_EQ(tell("two"), std::pair(size_t{0}, size_t{0}));
  moved.namespace_prefix = TrackNamespace();
  ASSERT_TRUE(follower->Update(tracks, moved).ok() && follower->Update(spaces, moved).ok());
  world.Run();
  (void)follower.Take<moqt::PublishReceived>();
  (void)follower.Take<moqt::NamespaceReceived>();
  EXPECT_EQ(tell("three"), std::pair(size_t{1}, size_t{1}));
  follower->Cancel(tracks, moqt::ResetCode::kCancelled);
  follower->Cancel(spaces, moqt::ResetCode::kCancelled);
  world.Run();
  EXPECT_EQ(tell("four"), std::pair(size_t{0}, size_t{0}));
}

TEST(RelayFollowers, CannotMoveToAPrefixThatIsTooLarge) {
  RelayWorld::Options options;
  options.relay.limits.prefix_tracks_max = 4;
  RelayWorld world(options);
  Client& announcer = world.Join();
  Client& follower = world.Join();
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    (void)*announcer->PublishNamespace(FollowedSpace({"live", name}), {});
  }
  const RequestId request = *follower->SubscribeNamespace(FollowedSpace({"x"}), {});
  world.Run();
  moqt::Parameters moved;
  moved.namespace_prefix = FollowedSpace({"live"});
  ASSERT_TRUE(follower->Update(request, moved).ok());
  world.Run();
  EXPECT_EQ(follower.One<moqt::UpdateRefused>().error.code, moqt::RequestCode::kNamespaceTooLarge);
  EXPECT_EQ(follower.Take<moqt::NamespaceReceived>().size(), 0u);
  (void)*announcer->PublishNamespace(FollowedSpace({"x", "y"}), {});  // Its request is over.
  world.Run();
  EXPECT_EQ(follower.Take<moqt::NamespaceReceived>().size(), 0u);
}

// What they subscribe to by themselves is on no account of the relay's.
TEST(RelayFollowers, MaySubscribeToAsMuchAsTheyLikeBeside) {
  RelayWorld::Options options;
  options.relay.limits.published_max = 2;
  RelayWorld world(options);
  Client& publisher = world.Join();
  Client& follower = world.Join();
  for (const char* name : {"a", "b", "c"}) {
    (void)*publisher->Publish(FollowedTrack(name), {}, {});
    world.Run();
    (void)*follower->Subscribe(FollowedTrack(name), {});
  }
  const TrackName others[] = {*TrackName::Of(FollowedSpace({"x"}), "1"),
                              *TrackName::Of(FollowedSpace({"x"}), "2"),
                              *TrackName::Of(FollowedSpace({"x"}), "3")};
  for (const TrackName& track : others) {
    (void)*publisher->Publish(track, {}, {});
  }
  world.Run();
  (void)*follower->SubscribeTracks(FollowedSpace({"x"}), {});
  world.Run();
  const auto heard = follower.Take<moqt::PublishReceived>();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(follower.One<moqt::PublishBlockedReceived>().track, others[2]);
  // What it has refused makes room.
  for (const auto& event : heard) {
    ASSERT_TRUE(
        follower->RefuseRequest(event.request, Because(moqt::RequestCode::kUninterested, "")).ok());
  }
  world.Run();
  (void)*publisher->Publish(*TrackName::Of(FollowedSpace({"x"}), "4"), {}, {});
  world.Run();
  EXPECT_EQ(follower.Take<moqt::PublishReceived>().size(), 1u);
}

// A relay asks for many.
TEST(RelayFollowers, HearOfAllIfTheyAreRelays) {
  RelayWorld::Options options;
  options.relay.limits.published_max = 1;
  options.relay.access.required = true;
  options.relay.access.tokens.Add(
      Sha256::Of("relay"),
      {"relay", *Grant::Of(std::vector<std::string>{"_all", "_plain"},
                           std::vector<std::string>{"publish", "read", "relay"})});
  RelayWorld world(options);
  Client& publisher = world.Join({{}, {"relay"}});
  Client& relay = world.Join({{}, {"relay"}});
  (void)*relay->SubscribeTracks(FollowedSpace({"live"}), {});
  for (const char* name : {"1", "2", "3"}) {
    (void)*publisher->Publish(FollowedTrack(name), {}, {});
  }
  world.Run();
  EXPECT_EQ(relay.Take<moqt::PublishReceived>().size(), 3u);
}

}  // namespace
}  // namespace kvcast::relay
