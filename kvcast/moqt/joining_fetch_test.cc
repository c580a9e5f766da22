// FETCH that joins a subscription, from both ends.
#include <gtest/gtest.h>

#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/byte_peer_test.h"
#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

TrackName JoinedTrack() { return *TrackName::Of(*TrackNamespace::Of({"kv"}), "t"); }

Parameters Largest(std::optional<Location> largest) {
  Parameters parameters;
  parameters.largest_object = largest;
  return parameters;
}

struct JoiningWorld {
  // The client's subscription, which the server has not answered.
  explicit JoiningWorld(const Parameters& wanted = {}) {
    subscription = *pair.client().Subscribe(JoinedTrack(), wanted);
    pair.Run();
  }
  void Accept(std::optional<Location> largest) {
    EXPECT_TRUE(pair.server().AcceptSubscribe(subscription, Largest(largest), {}).ok());
    pair.Run();
  }
  RequestId Join(Fetch::Type type, uint64_t start) {
    const RequestId fetch = *pair.client().FetchJoining(subscription, type, start, {});
    pair.Run();
    return fetch;
  }
  std::optional<RequestCode> Refusal() {
    const auto refused = pair.Take<RequestRefused>(pair.client());
    return refused.empty() ? std::nullopt : std::optional(refused[0].error.code);
  }

  SessionPair pair;
  RequestId subscription;
};

class JoiningFetchInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, JoiningFetchInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(JoiningFetchInEveryShape, EndsWhereItsSubscriptionBegins) {
  const struct {
    Fetch::Type type;
    uint64_t start;
    Location from;
  } cases[] = {
      {Fetch::Type::kRelativeJoining, 0, {7, 0}},  {Fetch::Type::kRelativeJoining, 2, {5, 0}},
      {Fetch::Type::kRelativeJoining, 99, {0, 0}}, {Fetch::Type::kAbsoluteJoining, 3, {3, 0}},
      {Fetch::Type::kAbsoluteJoining, 7, {7, 0}},
  };
  for (const auto& [type, start, from] : cases) {
    JoiningWorld world;
    world.Accept(Location{7, 4});
    const RequestId fetch = world.Join(type, start);
    const auto received = world.pair.One<FetchReceived>(world.pair.server());
    EXPECT_EQ(received.request, fetch);
    EXPECT_EQ(received.track, JoinedTrack());
    EXPECT_EQ(received.joined, world.subscription);
    EXPECT_EQ(received.range, (LocationRange{from, {7, 4}}));
  }
}

TEST_P(JoiningFetchInEveryShape, IsServedAsAnyOther) {
  JoiningWorld world;
  world.Accept(Location{1, 1});
  const RequestId fetch = world.Join(Fetch::Type::kRelativeJoining, 1);
  Session& server = world.pair.server();
  ASSERT_TRUE(server.AcceptFetch(fetch, FetchOk{false, {1, 1}, {}, {}}).ok());
  Object object;
  object.location = {1, 1};
  ASSERT_TRUE(server.SendFetched(fetch, object).ok());
  object.location = {1, 2};
  EXPECT_FALSE(server.SendFetched(fetch, object).ok());
  ASSERT_TRUE(server.EndFetch(fetch).ok());
  world.pair.Run();
  EXPECT_TRUE(std::holds_alternative<ReceivedObject>(*world.pair.client().Take(fetch)));
  EXPECT_TRUE(std::get<FetchEnd>(*world.pair.client().Take(fetch)).complete);
}

TEST_P(JoiningFetchInEveryShape, WaitsForItsSubscriptionToBeAnswered) {
  JoiningWorld world;
  (void)world.Join(Fetch::Type::kRelativeJoining, 1);
  EXPECT_TRUE(world.pair.Take<FetchReceived>(world.pair.server()).empty());
  world.Accept(Location{7, 4});
  EXPECT_EQ(world.pair.One<FetchReceived>(world.pair.server()).range,
            (LocationRange{{6, 0}, {7, 4}}));
}

// Streams come in any order, and so a fetch may come before what it joins.
TEST_P(JoiningFetchInEveryShape, MayComeBeforeItsSubscription) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 4;
    SessionPair pair(options);
    const RequestId subscription = *pair.client().Subscribe(JoinedTrack(), {});
    const RequestId fetch =
        *pair.client().FetchJoining(subscription, Fetch::Type::kAbsoluteJoining, 1, {});
    pair.Run();
    ASSERT_TRUE(pair.server().AcceptSubscribe(subscription, Largest(Location{2, 0}), {}).ok());
    const auto received = pair.One<FetchReceived>(pair.server());
    EXPECT_EQ(received.request, fetch);
    EXPECT_EQ(received.range, (LocationRange{{1, 0}, {2, 0}}));
  }
}

// A subscription that never comes, or is never answered, is waited for only so long.
TEST(JoiningFetch, IsRefusedWhenItsSubscriptionTakesTooLong) {
  for (const bool comes : {true, false}) {
    Limits limits;
    limits.join_patience = std::chrono::seconds(3);
    BytePeer peer(true, limits);
    peer.SetUp();
    if (comes) {
      peer.Send(peer.PeersRequest(0), draft::SubscribeOf(peer.PeersId(0), "t"));
    }
    peer.Send(peer.PeersRequest(1),
              draft::Framed(0x16, draft::Num(peer.PeersId(1)) + draft::Num(2) +
                                      draft::Num(peer.PeersId(0)) + draft::Num(1) + draft::Num(0)));
    peer.Drain();
    EXPECT_EQ(peer.session().deadline(), Instant() + std::chrono::seconds(3));
    peer.session().OnTimeout(Instant() + std::chrono::milliseconds(2999));
    EXPECT_EQ(peer.Outcome(peer.PeersRequest(1)).kind, draft::Verdict::Kind::kFine);
    peer.session().OnTimeout(Instant() + std::chrono::seconds(3));
    const RequestCode code = comes ? RequestCode::kTimeout : RequestCode::kInvalidJoiningRequestId;
    const draft::Verdict refused{draft::Verdict::Kind::kRefused, static_cast<uint64_t>(code)};
    EXPECT_EQ(peer.Outcome(peer.PeersRequest(1)).ToString(), refused.ToString());
    EXPECT_FALSE(peer.session().deadline().has_value());
    if (!comes) {  // The subscription itself is none the worse for coming late.
      peer.Send(peer.PeersRequest(0), draft::SubscribeOf(peer.PeersId(0), "t"));
    }
    EXPECT_TRUE(peer.session().AcceptSubscribe(peer.PeersId(0), Largest(Location{1, 1}), {}).ok());
    EXPECT_EQ(peer.Outcome(peer.PeersRequest(1)).kind, draft::Verdict::Kind::kFine);
  }
}

TEST_P(JoiningFetchInEveryShape, IsRefusedWithItsSubscription) {
  JoiningWorld world;
  (void)world.Join(Fetch::Type::kRelativeJoining, 1);
  ASSERT_TRUE(world.pair.server()
                  .RefuseRequest(world.subscription, {RequestCode::kDoesNotExist, {}, "", {}})
                  .ok());
  world.pair.Run();
  const auto refused = world.pair.Take<RequestRefused>(world.pair.client());
  ASSERT_EQ(refused.size(), 2u);
  for (const RequestRefused& each : refused) {
    EXPECT_EQ(each.error.code, each.request == world.subscription
                                   ? RequestCode::kDoesNotExist
                                   : RequestCode::kInvalidJoiningRequestId);
  }
}

TEST_P(JoiningFetchInEveryShape, IsRefusedWhereNothingCanBeJoined) {
  JoiningWorld empty;  // No object was published.
  empty.Accept(std::nullopt);
  (void)empty.Join(Fetch::Type::kRelativeJoining, 1);
  EXPECT_EQ(empty.Refusal(), RequestCode::kInvalidRange);

  JoiningWorld beyond;
  beyond.Accept(Location{7, 4});
  (void)beyond.Join(Fetch::Type::kAbsoluteJoining, 8);
  EXPECT_EQ(beyond.Refusal(), RequestCode::kInvalidRange);

  Parameters paused;
  paused.forward = false;
  JoiningWorld silent(paused);
  silent.Accept(Location{7, 4});
  (void)silent.Join(Fetch::Type::kRelativeJoining, 1);
  EXPECT_EQ(silent.Refusal(), RequestCode::kInvalidRange);

  JoiningWorld over;
  over.Accept(Location{7, 4});
  ASSERT_TRUE(over.pair.server().EndTrack(over.subscription, DoneCode::kTrackEnded, "").ok());
  (void)over.Join(Fetch::Type::kRelativeJoining, 1);
  EXPECT_EQ(over.Refusal(), RequestCode::kInvalidJoiningRequestId);
}

// What a subscription that was silent begins with is told by the answer that lets it speak.
TEST_P(JoiningFetchInEveryShape, BeginsWhereAnUpdateLetsTheSubscriptionBegin) {
  Parameters paused;
  paused.forward = false;
  JoiningWorld world(paused);
  world.Accept(Location{7, 4});
  Parameters on;
  on.forward = true;
  ASSERT_TRUE(world.pair.client().Update(world.subscription, on).ok());
  world.pair.Run();
  (void)world.Join(Fetch::Type::kRelativeJoining, 0);
  EXPECT_TRUE(world.pair.Take<FetchReceived>(world.pair.server()).empty());  // The update waits.
  ASSERT_TRUE(world.pair.server().AcceptUpdate(world.subscription, Largest(Location{9, 1})).ok());
  EXPECT_EQ(world.pair.One<FetchReceived>(world.pair.server()).range,
            (LocationRange{{9, 0}, {9, 1}}));
}

TEST_P(JoiningFetchInEveryShape, JoinsAPublicationThatWasAccepted) {
  SessionPair pair;
  const RequestId published = *pair.server().Publish(JoinedTrack(), Largest(Location{2, 2}), {});
  pair.Run();
  ASSERT_TRUE(pair.client().AcceptPublish(published, {}).ok());
  pair.Run();
  ASSERT_TRUE(pair.client().FetchJoining(published, Fetch::Type::kRelativeJoining, 1, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.One<FetchReceived>(pair.server()).range, (LocationRange{{1, 0}, {2, 2}}));
}

}  // namespace
}  // namespace kvcast::moqt
