// What those hear who wait for a track that nobody will bring.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

TrackNamespace RefusedSpace(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}
TrackName RefusedTrack(std::string_view name) {
  return *TrackName::Of(RefusedSpace({"live", "a"}), name);
}
RequestId AskedOf(Client& client) { return client.One<moqt::SubscribeReceived>().request; }

// Two who told of the namespace of a track, and one who wants the track.
struct AskedTwo {
  AskedTwo() {
    (void)*one->PublishNamespace(RefusedSpace({"live"}), {});
    (void)*two->PublishNamespace(RefusedSpace({"live", "a"}), {});
    world.Run();
    (void)*subscriber->Subscribe(RefusedTrack("t"), {});
    world.Run();
  }
  void RefuseBy(Client& client, const moqt::RequestError& error) {
    ASSERT_TRUE(client->RefuseRequest(AskedOf(client), error).ok());
    world.Run();
  }
  void RefuseBy(Client& client, RequestCode code) { RefuseBy(client, {code, {}, "", {}}); }
  moqt::RequestError Heard() { return subscriber.One<moqt::RequestRefused>().error; }

  RelayWorld world;
  Client& one = world.Join();
  Client& two = world.Join();
  Client& subscriber = world.Join();
};

// Whoever is told of another track asks for that, and it is asked for in turn.
TEST(RelayRefusals, PassesARedirectToAnotherTrackOn) {
  AskedTwo w;
  w.RefuseBy(w.two, RequestCode::kDoesNotExist);
  const moqt::RequestError away{RequestCode::kRedirect, 7000, "moved",
                                moqt::Redirect{"", RefusedTrack("new")}};
  w.RefuseBy(w.one, away);
  const moqt::RequestError heard = w.Heard();
  EXPECT_EQ(heard.code, RequestCode::kRedirect);
  EXPECT_EQ(heard.retry_after_ms, 7000u);
  EXPECT_EQ(heard.reason, "moved");
  ASSERT_TRUE(heard.redirect.has_value());
  EXPECT_EQ(heard.redirect->uri, "");
  EXPECT_EQ(heard.redirect->track, RefusedTrack("new"));
  ASSERT_TRUE(w.subscriber->Subscribe(heard.redirect->track, {}).ok());
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::SubscribeReceived>().track, RefusedTrack("new"));
}

TEST(RelayRefusals, PassesNoRedirectOnThatLeadsNowhereElse) {
  for (const moqt::Redirect& back : {moqt::Redirect{}, moqt::Redirect{"", RefusedTrack("t")}}) {
    AskedTwo w;
    w.RefuseBy(w.two, RequestCode::kDoesNotExist);
    const moqt::RequestError away{RequestCode::kRedirect, std::nullopt, "", back};
    w.RefuseBy(w.one, away);
    EXPECT_EQ(w.Heard().code, RequestCode::kDoesNotExist);
  }
}

// What is between a publisher and us is not what is between us and who asked.
TEST(RelayRefusals, RefusesWithACodeThatIsTrueOfWhoAsked) {
  const std::pair<RequestCode, RequestCode> codes[] = {
      {RequestCode::kUnauthorized, RequestCode::kInternalError},
      {RequestCode::kMalformedAuthToken, RequestCode::kInternalError},
      {RequestCode::kExpiredAuthToken, RequestCode::kInternalError},
      {RequestCode::kInvalidRange, RequestCode::kInternalError},
      {RequestCode{0x7777}, RequestCode::kInternalError},
      {RequestCode::kGoingAway, RequestCode::kDoesNotExist},
      {RequestCode::kNotSupported, RequestCode::kDoesNotExist},
      {RequestCode::kTimeout, RequestCode::kTimeout},
      {RequestCode::kMalformedTrack, RequestCode::kMalformedTrack}};
  for (const auto& [said, heard] : codes) {
    AskedTwo w;
    w.RefuseBy(w.one, said);
    w.RefuseBy(w.two, said);
    EXPECT_EQ(w.Heard().code, heard) << static_cast<uint64_t>(said);
  }
}

// Whoever of them is heard first or last, what helps most is passed on.
TEST(RelayRefusals, PassesTheRefusalOnThatHelpsMost) {
  const moqt::RequestError nowhere{RequestCode::kDoesNotExist, {}, "", {}};
  const moqt::RequestError broken{RequestCode::kMalformedTrack, {}, "", {}};
  const moqt::RequestError later{RequestCode::kExcessiveLoad, 500, "", {}};
  const moqt::RequestError soon{RequestCode::kTimeout, 20, "", {}};
  const moqt::RequestError away{
      RequestCode::kRedirect, {}, "", moqt::Redirect{"", RefusedTrack("new")}};
  const std::vector<moqt::RequestError> rising = {nowhere, broken, later, soon, away};
  for (size_t worse = 0; worse < rising.size(); ++worse) {
    for (size_t better = worse + 1; better < rising.size(); ++better) {
      for (const bool better_first : {false, true}) {
        AskedTwo w;
        w.RefuseBy(w.one, rising[better_first ? better : worse]);
        w.RefuseBy(w.two, rising[better_first ? worse : better]);
        const moqt::RequestError heard = w.Heard();
        EXPECT_EQ(heard.code, rising[better].code) << worse << " " << better;
        EXPECT_EQ(heard.retry_after_ms, rising[better].retry_after_ms) << worse << " " << better;
      }
    }
  }
}

// Something of the track is here, and nobody who would go on with it: a subscription would wait for
// ever, and what is here can be fetched.
TEST(RelayRefusals, PassesARefusalOnWhereSomethingOfTheTrackIsHere) {
  for (const bool redirects : {false, true}) {
    RelayWorld world;
    Client& gone = world.Join();
    Client& other = world.Join();
    Client& subscriber = world.Join();
    gone.SendGroup(*gone->Publish(RefusedTrack("t"), {}, {}), RefusedTrack("t"), 0, 2);
    (void)*other->PublishNamespace(RefusedSpace({"live"}), {});
    world.Run();
    world.Leave(gone);
    (void)*subscriber->Subscribe(RefusedTrack("t"), {});
    world.Run();
    moqt::RequestError refusal{RequestCode::kDoesNotExist, {}, "", {}};
    if (redirects) {
      refusal = {RequestCode::kRedirect, {}, "", moqt::Redirect{"", RefusedTrack("new")}};
    }
    ASSERT_TRUE(other->RefuseRequest(AskedOf(other), refusal).ok());
    world.Run();
    EXPECT_EQ(subscriber.One<moqt::RequestRefused>().error.code, refusal.code);
    const Brought brought = world.Fetch(subscriber, RefusedTrack("t"), LocationRange::Groups(0, 0));
    EXPECT_EQ(brought.objects.size(), 2u);
    // Once nobody else is said to have it, it is ours to answer for.
    world.Leave(other);
    (void)*subscriber->Subscribe(RefusedTrack("t"), {});
    world.Run();
    EXPECT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u);
  }
}

TEST(RelayRefusals, AnswersForWhatIsHereIfWhoWasAskedLeaves) {
  RelayWorld world;
  Client& gone = world.Join();
  Client& silent = world.Join();
  Client& subscriber = world.Join();
  gone.SendGroup(*gone->Publish(RefusedTrack("t"), {}, {}), RefusedTrack("t"), 0, 2);
  (void)*silent->PublishNamespace(RefusedSpace({"live"}), {});
  world.Run();
  world.Leave(gone);
  (void)*subscriber->Subscribe(RefusedTrack("t"), {});
  world.Run();
  EXPECT_TRUE(subscriber.Take<moqt::RequestAccepted>().empty());
  world.Leave(silent);
  world.Run();
  EXPECT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u);
}

// What others want of a peer fills neither its session nor the node.
TEST(RelayUpstreamBounds, AskAPeerForSoManyTracksAtATime) {
  for (const bool by_bytes : {false, true}) {
    RelayWorld::Options options;
    options.relay.limits.asked_max = by_bytes ? 100 : 3;
    options.relay.limits.asked_bytes = by_bytes ? 3 * 6 : 1000;
    RelayWorld world(options);
    Client& announcer = world.Join();
    Client& reader = world.Join();
    const TrackNamespace space = *TrackNamespace::Of({"space"});
    (void)*announcer->PublishNamespace(space, {});
    world.Run();
    for (int i = 0; i < 5; ++i) {
      (void)*reader->Subscribe(*TrackName::Of(space, std::to_string(i)), {});
    }
    world.Run();
    const auto asked = announcer.Take<moqt::SubscribeReceived>();
    EXPECT_EQ(asked.size(), 3u);
    const auto refused = reader.Take<moqt::RequestRefused>();
    ASSERT_EQ(refused.size(), 2u);
    EXPECT_EQ(refused[0].error.code, RequestCode::kExcessiveLoad);
    EXPECT_TRUE(refused[0].error.retry_after_ms.has_value());
    // As answers come there is room again.
    ASSERT_TRUE(
        announcer->RefuseRequest(asked[0].request, {RequestCode::kDoesNotExist, {}, "", {}}).ok());
    world.Run();
    (void)reader.Take<moqt::RequestRefused>();
    (void)*reader->Subscribe(*TrackName::Of(space, "9"), {});
    world.Run();
    EXPECT_EQ(announcer.Take<moqt::SubscribeReceived>().size(), 1u);
  }
}

}  // namespace
}  // namespace kvcast::relay
