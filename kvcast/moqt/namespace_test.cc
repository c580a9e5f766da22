// PUBLISH_NAMESPACE and SUBSCRIBE_NAMESPACE, from both ends.
#include <gtest/gtest.h>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

TrackNamespace Fields(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}

class PublishNamespaceInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, PublishNamespaceInEveryShape, EveryShape::Drafts(),
                         EveryShape::Name);

TEST_P(PublishNamespaceInEveryShape, TellsOfANamespaceUntilItIsCancelled) {
  SessionPair pair;
  Parameters parameters;
  parameters.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 5, "secret"}};
  const RequestId request = *pair.client().PublishNamespace(Fields({"a", "b"}), parameters);
  pair.Run();
  const auto received = pair.One<PublishNamespaceReceived>(pair.server());
  EXPECT_EQ(received.space, Fields({"a", "b"}));
  EXPECT_EQ(received.parameters.auth_tokens, parameters.auth_tokens);
  ASSERT_TRUE(pair.server().AcceptPublishNamespace(received.request, {}).ok());
  EXPECT_FALSE(pair.server().AcceptPublishNamespace(received.request, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).request, request);
  pair.client().Cancel(request, ResetCode::kCancelled);
  pair.Run();
  EXPECT_EQ(pair.One<RequestCancelled>(pair.server()).request, received.request);
  EXPECT_FALSE(pair.connection_closed());
}

TEST_P(PublishNamespaceInEveryShape, IsRevokedByTheSubscriber) {
  SessionPair pair;
  const RequestId request = *pair.client().PublishNamespace(Fields({"a"}), {});
  pair.Run();
  const auto received = pair.One<PublishNamespaceReceived>(pair.server());
  ASSERT_TRUE(pair.server().AcceptPublishNamespace(received.request, {}).ok());
  pair.Run();
  pair.server().Cancel(received.request, ResetCode::kExpiredAuthToken);
  pair.Run();
  const auto cancelled = pair.One<RequestCancelled>(pair.client());
  EXPECT_EQ(cancelled.request, request);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kExpiredAuthToken));
}

TEST_P(PublishNamespaceInEveryShape, MayNotBeOfTheProtocolsOwn) {
  SessionPair pair;
  for (const char* first : {".", ".session"}) {
    EXPECT_FALSE(pair.client().PublishNamespace(Fields({first}), {}).ok()) << first;
    EXPECT_FALSE(pair.client().SubscribeNamespace(Fields({first, "x"}), {}).ok()) << first;
  }
  // Others that begin with a period are for the user to know.
  EXPECT_TRUE(pair.client().PublishNamespace(Fields({".later"}), {}).ok());
  pair.Run();
  EXPECT_EQ(pair.Take<PublishNamespaceReceived>(pair.server()).size(), 1u);
}

// A server to which the client has subscribed below ("a"), and which has accepted.
struct NamespaceSubscribed {
  explicit NamespaceSubscribed(const SessionPair::Options& options = {}) : pair(options) {
    request = *pair.client().SubscribeNamespace(Fields({"a"}), {});
    pair.Run();
    received = pair.One<SubscribeNamespaceReceived>(pair.server()).request;
    EXPECT_TRUE(pair.server().AcceptSubscribeNamespace(received, {}).ok());
    pair.Run();
    EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).request, request);
  }
  Session& client() { return pair.client(); }
  Session& server() { return pair.server(); }
  SessionPair pair;
  RequestId request;
  RequestId received;
};

class SubscribeNamespaceInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, SubscribeNamespaceInEveryShape, EveryShape::Drafts(),
                         EveryShape::Name);

TEST_P(SubscribeNamespaceInEveryShape, HearsOfNamespacesAndOfTheirEnd) {
  NamespaceSubscribed world;
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b"})).ok());
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b"})).ok());  // Once.
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a"})).ok());
  EXPECT_FALSE(world.server().AnnounceNamespace(world.received, Fields({"b"})).ok());
  EXPECT_FALSE(world.server().WithdrawNamespace(world.received, Fields({"a", "c"})).ok());
  world.pair.Run();
  const auto told = world.pair.Take<NamespaceReceived>(world.client());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].space, Fields({"a", "b"}));
  EXPECT_EQ(told[1].space, Fields({"a"}));
  ASSERT_TRUE(world.server().WithdrawNamespace(world.received, Fields({"a", "b"})).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.One<NamespaceWithdrawn>(world.client()).space, Fields({"a", "b"}));
}

TEST_P(SubscribeNamespaceInEveryShape, DoesNotOverlapAnotherButATracksSubscriptionMay) {
  NamespaceSubscribed world;
  EXPECT_FALSE(world.client().SubscribeNamespace(Fields({"a", "b"}), {}).ok());
  EXPECT_TRUE(world.client().SubscribeTracks(Fields({"a"}), {}).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.Take<SubscribeTracksReceived>(world.server()).size(), 1u);
}

TEST_P(SubscribeNamespaceInEveryShape, MovesToAnotherPrefix) {
  NamespaceSubscribed world;
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b", "c"})).ok());
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "x"})).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.Take<NamespaceReceived>(world.client()).size(), 2u);
  Parameters moved;
  moved.namespace_prefix = Fields({"a", "b"});
  const RequestId update = *world.client().Update(world.request, moved);
  world.pair.Run();
  EXPECT_EQ(world.pair.One<UpdateReceived>(world.server()).parameters, moved);
  ASSERT_TRUE(world.server().AcceptUpdate(world.received, {}).ok());
  EXPECT_FALSE(world.server().AnnounceNamespace(world.received, Fields({"a", "x"})).ok());
  ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b", "d"})).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.One<UpdateAccepted>(world.client()).update, update);
  EXPECT_EQ(world.pair.One<NamespaceWithdrawn>(world.client()).space, Fields({"a", "x"}));
  EXPECT_EQ(world.pair.One<NamespaceReceived>(world.client()).space, Fields({"a", "b", "d"}));
}

TEST(SubscribeNamespace, EndsASessionThatWithdrawsWhatItNeverToldOf) {
  Session client(Role::kClient, SessionPair::ClientSetup(), {}, Instant());
  ASSERT_TRUE(client.SubscribeNamespace(Fields({"a"}), {}).ok());
  client.OnStreamData(3, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  client.OnStreamData(0, AsBytes(std::string_view("\x07\x00\x01\x00", 4)), false);
  EXPECT_FALSE(client.closed());
  client.OnStreamData(0, AsBytes(std::string_view("\x0e\x00\x03\x01\x01x", 6)), false);
  EXPECT_TRUE(client.closed());
}

// What it was told of is remembered for it, and counted, too.
TEST_P(SubscribeNamespaceInEveryShape, IsEndedWhenThePeerHasToBeToldOfTooMany) {
  SessionPair::Options options;
  options.limits.told_namespace_bytes = 2000;
  NamespaceSubscribed world(options);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b"})).ok());
    ASSERT_TRUE(world.server().WithdrawNamespace(world.received, Fields({"a", "b"})).ok());
  }
  char last = 'a';
  while (world.server().AnnounceNamespace(world.received, Fields({"a", {&last, 1}})).ok()) {
    ASSERT_LT(++last, 'z');
  }
  EXPECT_GT(last, 'e');
  world.pair.Run();
  const auto cancelled = world.pair.One<RequestCancelled>(world.client());
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  EXPECT_FALSE(world.pair.connection_closed());
}

// Names that a peer tells of are counted, and given back when they are withdrawn.
TEST_P(SubscribeNamespaceInEveryShape, IsEndedWhenThePeerTellsOfTooMany) {
  SessionPair::Options options;
  options.limits.namespace_bytes = 2000;
  NamespaceSubscribed world(options);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(world.server().AnnounceNamespace(world.received, Fields({"a", "b"})).ok());
    ASSERT_TRUE(world.server().WithdrawNamespace(world.received, Fields({"a", "b"})).ok());
  }
  world.pair.Run();
  EXPECT_TRUE(world.pair.Take<RequestCancelled>(world.client()).empty());
  for (char name = 'a'; name <= 'z'; ++name) {
    ASSERT_TRUE(
        world.server().AnnounceNamespace(world.received, Fields({"a", std::string(1, name)})).ok());
  }
  world.pair.Run();
  const auto cancelled = world.pair.One<RequestCancelled>(world.client());
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  EXPECT_FALSE(world.pair.connection_closed());
}

TEST_P(SubscribeNamespaceInEveryShape, CannotBeMovedToWhatIsKeptForTheProtocol) {
  NamespaceSubscribed world;
  Parameters moved;
  moved.namespace_prefix = Fields({".session"});
  EXPECT_EQ(world.client().Update(world.request, moved).error().code(), ErrorCode::kInvalid);
  moved.namespace_prefix = Fields({"a", "b"});
  EXPECT_TRUE(world.client().Update(world.request, moved).ok());
}

// A subscriber that does not read is not written to for ever.
TEST_P(SubscribeNamespaceInEveryShape, LosesASubscriberThatDoesNotRead) {
  SessionPair::Options options;
  options.limits.answer_bytes = 5000;
  NamespaceSubscribed world(options);
  for (int i = 0; i < 100; ++i) {
    (void)world.server().AnnounceNamespace(world.received, Fields({"a", std::to_string(i)})).ok();
  }
  const auto cancelled = world.pair.One<RequestCancelled>(world.server());
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kTooFarBehind));
}

}  // namespace
}  // namespace kvcast::moqt
