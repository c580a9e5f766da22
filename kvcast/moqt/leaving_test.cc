// GOAWAY and redirects, from both ends.
#include <gtest/gtest.h>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

using std::chrono::milliseconds;

TrackName LeavingTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"kv"}), name);
}

constexpr Instant kLeavingStart;

class GoAwayInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, GoAwayInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(GoAwayInEveryShape, RefusesWhatIsAskedAfterIt) {
  SessionPair pair;
  const RequestId before = *pair.client().Subscribe(LeavingTrack("a"), {});
  pair.Run();
  ASSERT_TRUE(pair.server().SendGoAway("moqt://elsewhere/", 0).ok());
  EXPECT_FALSE(pair.server().SendGoAway("", 0).ok());
  (void)*pair.client().Subscribe(LeavingTrack("b"), {});
  pair.Run();
  const auto away = pair.One<GoAwayReceived>(pair.client());
  EXPECT_EQ(away.message.uri, "moqt://elsewhere/");
  EXPECT_EQ(away.message.request_id, Named(2));
  EXPECT_EQ(pair.One<RequestRefused>(pair.client()).error.code, RequestCode::kGoingAway);
  EXPECT_TRUE(pair.server().AcceptSubscribe(before, {}, {}).ok());
  EXPECT_FALSE(pair.client().Subscribe(LeavingTrack("c"), {}).ok());
  EXPECT_TRUE(pair.server().Publish(LeavingTrack("d"), {}, {}).ok());
}

TEST_P(GoAwayInEveryShape, ClosesTheSessionWhenItsTimeIsOver) {
  for (const bool open : {true, false}) {
    SessionPair pair;
    if (open) {
      ASSERT_TRUE(pair.client().Subscribe(LeavingTrack("a"), {}).ok());
    }
    pair.Run();
    pair.server().OnTime(kLeavingStart + milliseconds(1000));
    ASSERT_TRUE(pair.server().SendGoAway("", 500).ok());
    EXPECT_EQ(pair.server().deadline(), kLeavingStart + milliseconds(1500));
    pair.server().OnTimeout(kLeavingStart + milliseconds(1499));
    EXPECT_FALSE(pair.server().closed());
    pair.server().OnTimeout(kLeavingStart + milliseconds(1500));
    const auto closed = pair.One<SessionClosed>(pair.server());
    EXPECT_EQ(closed.code,
              static_cast<uint64_t>(open ? SessionCode::kGoAwayTimeout : SessionCode::kNoError));
  }
}

TEST_P(GoAwayInEveryShape, FromAClientNamesNoPlace) {
  SessionPair pair;
  EXPECT_FALSE(pair.client().SendGoAway("moqt://x/", 0).ok());
  EXPECT_TRUE(pair.client().SendGoAway("", 0).ok());
  pair.Run();
  EXPECT_EQ(pair.One<GoAwayReceived>(pair.server()).message.request_id, Named(1));
}

TEST(GoAway, OfOneRequestResetsItWhenItsTimeIsOver) {
  SessionPair pair;
  const RequestId request = *pair.client().Subscribe(LeavingTrack("a"), {});
  pair.Run();
  ASSERT_TRUE(pair.server().AcceptSubscribe(request, {}, {}).ok());
  ASSERT_TRUE(pair.server().SendGoAway(request, "moqt://elsewhere/", 100).ok());
  EXPECT_FALSE(pair.server().SendGoAway(request, "", 100).ok());
  pair.Run();
  const auto away = pair.One<GoAwayReceived>(pair.client());
  EXPECT_EQ(away.request, request);
  EXPECT_FALSE(away.message.request_id.has_value());
  pair.server().OnTimeout(*pair.server().deadline());
  pair.Run();
  const auto cancelled = pair.One<RequestCancelled>(pair.client());
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kGoingAway));
  EXPECT_FALSE(pair.connection_closed());
  EXPECT_FALSE(pair.server().deadline().has_value());
}

RequestError RedirectTo(std::string uri, std::string_view name) {
  return {RequestCode::kRedirect, 0, "",
          Redirect{std::move(uri), *TrackName::Of(*TrackNamespace::Of({"new"}), name)}};
}

TEST(Redirect, SendsARequestElsewhere) {
  SessionPair pair;
  const RequestId request = *pair.client().Subscribe(LeavingTrack("a"), {});
  pair.Run();
  ASSERT_TRUE(pair.server().RefuseRequest(request, RedirectTo("moqt://b/", "t")).ok());
  pair.Run();
  const auto refused = pair.One<RequestRefused>(pair.client());
  ASSERT_TRUE(refused.error.redirect.has_value());
  EXPECT_EQ(refused.error.redirect->uri, "moqt://b/");
  EXPECT_EQ(refused.error.redirect->track.name(), "t");
}

TEST(Redirect, IsNotSentWhereItWouldEndTheSession) {
  SessionPair pair;
  // A client cannot send a server anywhere, nor is a publication redirected.
  const RequestId published = *pair.server().Publish(LeavingTrack("a"), {}, {});
  const RequestId subscribed = *pair.server().Subscribe(LeavingTrack("b"), {});
  const RequestId announced = *pair.client().PublishNamespace(*TrackNamespace::Of({"n"}), {});
  pair.Run();
  EXPECT_FALSE(pair.client().RefuseRequest(published, RedirectTo("", "t")).ok());
  EXPECT_FALSE(pair.client().RefuseRequest(subscribed, RedirectTo("moqt://b/", "t")).ok());
  EXPECT_TRUE(pair.client().RefuseRequest(subscribed, RedirectTo("", "t")).ok());
  // A namespace has no track.
  EXPECT_FALSE(pair.server().RefuseRequest(announced, RedirectTo("moqt://b/", "t")).ok());
  EXPECT_TRUE(pair.server().RefuseRequest(announced, RedirectTo("moqt://b/", "")).ok());
  // The code and the redirect belong together.
  EXPECT_FALSE(
      pair.client().RefuseRequest(published, {RequestCode::kRedirect, {}, "", std::nullopt}).ok());
  pair.Run();
  EXPECT_FALSE(pair.connection_closed());
}

TEST(Redirect, ThatMayNotBeEndsTheSession) {
  // A server is sent elsewhere by a client; a namespace is redirected to a track.
  Session server(Role::kServer, {}, {}, Instant());
  ASSERT_TRUE(server.Subscribe(LeavingTrack("a"), {}).ok());
  server.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  server.OnStreamData(1, AsBytes(std::string("\x05\x00\x07\x34\x00\x00\x01x\x00\x00", 10)), false);
  EXPECT_TRUE(server.closed());

  Session client(Role::kClient, SessionPair::ClientSetup(), {}, Instant());
  ASSERT_TRUE(client.PublishNamespace(*TrackNamespace::Of({"n"}), {}).ok());
  client.OnStreamData(3, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  client.OnStreamData(0, AsBytes(std::string("\x05\x00\x07\x34\x00\x00\x00\x00\x01t", 10)), false);
  EXPECT_TRUE(client.closed());
}

// Out of streams, a publisher says so once, and does not publish the track later.
TEST(PublishBlocked, IsSaidWhenThePeerAllowsNoMoreStreams) {
  SessionPair::Options options;
  options.bidi_streams = 1;
  SessionPair pair(options);
  const RequestId tracks = *pair.client().SubscribeTracks(*TrackNamespace::Of({"kv"}), {});
  pair.Run();
  ASSERT_TRUE(pair.server().AcceptSubscribeTracks(tracks, {}).ok());
  ASSERT_TRUE(pair.server().Publish(LeavingTrack("a"), {}, {}).ok());
  EXPECT_EQ(pair.server().Publish(LeavingTrack("b"), {}, {}).error().code(), ErrorCode::kTooLarge);
  EXPECT_FALSE(pair.server().Publish(LeavingTrack("b"), {}, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.One<PublishBlockedReceived>(pair.client()).track, LeavingTrack("b"));
  pair.connection().AllowStreams(pair.server(), 10);
  EXPECT_FALSE(pair.server().Publish(LeavingTrack("b"), {}, {}).ok());
  EXPECT_TRUE(pair.server().Publish(LeavingTrack("c"), {}, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.Take<PublishReceived>(pair.client()).size(), 2u);
}

}  // namespace
}  // namespace kvcast::moqt
