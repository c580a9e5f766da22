// REQUEST_UPDATE, of every kind of request that can be changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

TrackName UpdatedTrack() { return *TrackName::Of(*TrackNamespace::Of({"kv"}), "t"); }

Parameters Priority(uint8_t priority) {
  Parameters parameters;
  parameters.subscriber_priority = priority;
  return parameters;
}

Object UpdatedObject(Location location) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of("kv");
  return object;
}

// The client is subscribed to a track of the server's.
struct SubscribedForUpdate {
  explicit SubscribedForUpdate(const Properties& properties = {}) {
    request = *pair.client().Subscribe(UpdatedTrack(), {});
    pair.Run();
    received = pair.One<SubscribeReceived>(pair.server()).request;
    EXPECT_TRUE(pair.server().AcceptSubscribe(received, {}, properties).ok());
    pair.Run();
    (void)pair.One<RequestAccepted>(pair.client());
  }
  SessionPair pair;
  RequestId request;
  RequestId received;
};

std::vector<StreamId> OpenGroups(Session& session, RequestId request, uint64_t count) {
  std::vector<StreamId> streams;
  for (uint64_t group = 0; group < count; ++group) {
    SubgroupHeader header;
    header.group = group;
    streams.push_back(*session.OpenSubgroup(request, header));
  }
  return streams;
}

std::vector<ReorderStream> Reordered(Session& session) {
  std::vector<ReorderStream> found;
  while (const std::optional<TransportAction> action = session.NextAction()) {
    if (const auto* reorder = std::get_if<ReorderStream>(&*action)) {
      found.push_back(*reorder);
    }
  }
  return found;
}

class UpdateInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, UpdateInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(UpdateInEveryShape, ChangesThePriorityOfASubscriptionAndOfItsStreams) {
  SubscribedForUpdate world;
  Session& server = world.pair.server();
  const StreamId open = *server.OpenSubgroup(world.received, {});
  ASSERT_TRUE(server.SendObject(world.received, open, UpdatedObject({0, 0})).ok());
  const RequestId update = *world.pair.client().Update(world.request, Priority(7));
  world.pair.Run();
  EXPECT_EQ(world.pair.One<UpdateReceived>(server).parameters, Priority(7));
  ASSERT_TRUE(server.AcceptUpdate(world.received, {}).ok());
  const auto reordered = Reordered(server);
  ASSERT_EQ(reordered.size(), 1u);
  EXPECT_EQ(reordered[0].stream, open);
  EXPECT_EQ(reordered[0].order.subscriber_priority, 7);
  EXPECT_FALSE(server.AcceptUpdate(world.received, {}).ok());
  EXPECT_NE(update, world.request);
}

// However many there are, streams move once; and not at all if they stand where they did.
TEST(Update, MovesStreamsOnlyAsTheLastOneSays) {
  SubscribedForUpdate world;
  Session& server = world.pair.server();
  const auto update = [&](const std::vector<uint8_t>& priorities) {
    for (const uint8_t priority : priorities) {
      ASSERT_TRUE(world.pair.client().Update(world.request, Priority(priority)).ok());
    }
    world.pair.Run();
    for (size_t i = 0; i < priorities.size(); ++i) {
      ASSERT_TRUE(server.AcceptUpdate(world.received, {}).ok());
    }
  };
  OpenGroups(server, world.received, 3);
  update({1, 2, 3});
  const auto reordered = Reordered(server);
  ASSERT_EQ(reordered.size(), 3u);
  EXPECT_EQ(reordered[0].order.subscriber_priority, 3);
  update({4, 3});
  EXPECT_TRUE(Reordered(server).empty());
}

// A message of a few bytes must not have a thousand streams moved each time it comes. What is sent
// meanwhile pays for that, and all stand in their place at last.
TEST(Update, MovesFewStreamsHoweverOftenItComes) {
  SubscribedForUpdate world;
  Session& server = world.pair.server();
  const std::vector<StreamId> streams = OpenGroups(server, world.received, 1000);
  std::map<StreamId, uint8_t> places;
  size_t moves = 0;
  const auto look = [&] {
    for (const ReorderStream& each : Reordered(server)) {
      places[each.stream] = each.order.subscriber_priority;
      ++moves;
    }
  };
  for (uint64_t i = 1; i <= 500; ++i) {
    const RequestUpdate update{2 * i, Priority(static_cast<uint8_t>(i % 100))};
    server.OnStreamData(0, AsBytes(DefaultCodec().Encode(update).value().ToString()), false);
    ASSERT_TRUE(server.AcceptUpdate(world.received, {}).ok());
    look();
    EXPECT_GE(moves, std::min<uint64_t>(i, 10) * 1000);  // At once, unless it is too often.
  }
  EXPECT_LT(moves, 50'000u);
  const RequestUpdate last{2000, Priority(200)};
  server.OnStreamData(0, AsBytes(DefaultCodec().Encode(last).value().ToString()), false);
  ASSERT_TRUE(server.AcceptUpdate(world.received, {}).ok());
  for (const StreamId stream : streams) {
    look();
    server.OnBytesSent(stream, 1);
  }
  look();
  for (const StreamId stream : streams) {
    EXPECT_EQ(places[stream], 200);
  }
}

TEST_P(UpdateInEveryShape, IsAnsweredWithTheLargestObject) {
  SubscribedForUpdate world;
  Session& server = world.pair.server();
  const StreamId open = *server.OpenSubgroup(world.received, {});
  ASSERT_TRUE(server.SendObject(world.received, open, UpdatedObject({0, 4})).ok());
  const RequestId update = *world.pair.client().Update(world.request, Priority(7));
  world.pair.Run();
  Parameters answer;
  answer.expires_ms = 5000;
  ASSERT_TRUE(server.AcceptUpdate(world.received, answer).ok());
  world.pair.Run();
  const auto accepted = world.pair.One<UpdateAccepted>(world.pair.client());
  EXPECT_EQ(accepted.update, update);
  EXPECT_EQ(accepted.parameters.largest_object, (Location{0, 4}));
  EXPECT_EQ(accepted.parameters.expires_ms, 5000u);
}

TEST_P(UpdateInEveryShape, ThatIsRefusedEndsTheSubscription) {
  SubscribedForUpdate world;
  ASSERT_TRUE(world.pair.client().Update(world.request, Priority(7)).ok());
  world.pair.Run();
  ASSERT_TRUE(world.pair.server()
                  .RefuseUpdate(world.received, {RequestCode::kUnauthorized, {}, "no", {}})
                  .ok());
  world.pair.Run();
  const auto refused = world.pair.One<UpdateRefused>(world.pair.client());
  EXPECT_EQ(refused.error.code, RequestCode::kUnauthorized);
  EXPECT_EQ(world.pair.One<PublishDoneReceived>(world.pair.client()).done.code,
            DoneCode::kUpdateFailed);
  EXPECT_FALSE(world.pair.connection_closed());
}

TEST_P(UpdateInEveryShape, OfAPublicationComesFromEitherSide) {
  SessionPair pair;
  const RequestId request = *pair.client().Publish(UpdatedTrack(), {}, {});
  pair.Run();
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  EXPECT_FALSE(pair.server().Update(received, Priority(1)).ok());  // Not accepted yet.
  ASSERT_TRUE(pair.server().AcceptPublish(received, {}).ok());
  pair.Run();
  Parameters paused;
  paused.forward = false;
  ASSERT_TRUE(pair.server().Update(received, paused).ok());
  pair.Run();
  EXPECT_EQ(pair.One<UpdateReceived>(pair.client()).request, request);
  ASSERT_TRUE(pair.client().AcceptUpdate(request, {}).ok());
  EXPECT_FALSE(pair.client().OpenSubgroup(request, {}).ok());
  Parameters renewed;
  renewed.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 1, "newer"}};
  ASSERT_TRUE(pair.client().Update(request, renewed).ok());
  pair.Run();
  EXPECT_EQ(pair.One<UpdateReceived>(pair.server()).parameters.auth_tokens, renewed.auth_tokens);
  // A publisher whose update is refused ends the track itself.
  ASSERT_TRUE(
      pair.server().RefuseUpdate(received, {RequestCode::kUnauthorized, {}, "no", {}}).ok());
  pair.Run();
  EXPECT_EQ(pair.One<PublishDoneReceived>(pair.server()).done.code, DoneCode::kUpdateFailed);
  EXPECT_EQ(pair.One<UpdateRefused>(pair.client()).request, request);
  EXPECT_EQ(pair.One<RequestCancelled>(pair.client()).request, request);
}

TEST_P(UpdateInEveryShape, OfAFetchChangesItsStreamAndARefusalEndsIt) {
  SessionPair pair;
  const RequestId request = *pair.client().Fetch(UpdatedTrack(), LocationRange::Groups(0, 9), {});
  pair.Run();
  const RequestId received = pair.One<FetchReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptFetch(received, FetchOk{false, {9, 9}, {}, {}}).ok());
  ASSERT_TRUE(pair.server().SendFetched(received, UpdatedObject({0, 0})).ok());
  pair.Run();
  ASSERT_TRUE(pair.client().Update(request, Priority(3)).ok());
  pair.Run();
  (void)pair.One<UpdateReceived>(pair.server());
  ASSERT_TRUE(pair.server().AcceptUpdate(received, {}).ok());
  const auto reordered = Reordered(pair.server());
  ASSERT_EQ(reordered.size(), 1u);
  EXPECT_EQ(reordered[0].order.subscriber_priority, 3);

  SessionPair other;
  const RequestId second = *other.client().Fetch(UpdatedTrack(), LocationRange::Groups(0, 9), {});
  other.Run();
  ASSERT_TRUE(other.server().AcceptFetch(second, FetchOk{false, {9, 9}, {}, {}}).ok());
  ASSERT_TRUE(other.server().SendFetched(second, UpdatedObject({0, 0})).ok());
  other.Run();
  ASSERT_TRUE(other.client().Update(second, Priority(3)).ok());
  other.Run();
  ASSERT_TRUE(other.server().RefuseUpdate(second, {RequestCode::kUnauthorized, {}, "", {}}).ok());
  other.Run();
  EXPECT_EQ(other.Take<UpdateRefused>(other.client()).size(), 1u);
  EXPECT_EQ(other.Take<RequestCancelled>(other.client()).size(), 1u);
  EXPECT_FALSE(other.server().EndFetch(second).ok());
}

// Whoever hears of a refusal hears next that the request is over, of whichever kind it is.
TEST_P(UpdateInEveryShape, ThatIsRefusedEndsARequestAboutANamespace) {
  const TrackNamespace space = *TrackNamespace::Of({"a"});
  for (const MessageKind kind : {MessageKind::kPublishNamespace, MessageKind::kSubscribeNamespace,
                                 MessageKind::kSubscribeTracks}) {
    SessionPair pair;
    Session& server = pair.server();
    RequestId request = 0;
    if (kind == MessageKind::kPublishNamespace) {
      request = *pair.client().PublishNamespace(space, {});
      pair.Run();
      ASSERT_TRUE(server.AcceptPublishNamespace(request, {}).ok());
    } else if (kind == MessageKind::kSubscribeNamespace) {
      request = *pair.client().SubscribeNamespace(space, {});
      pair.Run();
      ASSERT_TRUE(server.AcceptSubscribeNamespace(request, {}).ok());
    } else {
      request = *pair.client().SubscribeTracks(space, {});
      pair.Run();
      ASSERT_TRUE(server.AcceptSubscribeTracks(request, {}).ok());
    }
    pair.Run();
    Parameters renewed;
    renewed.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 1, "newer"}};
    ASSERT_TRUE(pair.client().Update(request, renewed).ok());
    pair.Run();
    ASSERT_TRUE(server.RefuseUpdate(request, {RequestCode::kExpiredAuthToken, {}, "", {}}).ok());
    pair.Run();
    EXPECT_EQ(pair.Take<UpdateRefused>(pair.client()).size(), 1u) << NameOf(kind);
    EXPECT_EQ(pair.Take<RequestCancelled>(pair.client()).size(), 1u) << NameOf(kind);
    EXPECT_FALSE(pair.client().Update(request, renewed).ok());
  }
}

// An answer to an update never overtakes the answer to its request.
TEST(Update, BeforeTheAnswerIsAnsweredAfterIt) {
  Session server(Role::kServer, {}, {}, Instant());
  const auto tell = [&](StreamId stream, std::string_view bytes) {
    server.OnStreamData(stream, AsBytes(bytes), false);
  };
  tell(2, std::string_view("\xaf\x00\x00\x00", 4));
  tell(0, std::string_view("\x06\x00\x05\x00\x01\x01n\x00", 8));  // PUBLISH_NAMESPACE.
  tell(0, std::string_view("\x02\x00\x02\x02\x00", 5));           // REQUEST_UPDATE.
  while (server.NextAction()) {
  }
  ASSERT_TRUE(server.AcceptUpdate(0, {}).ok());
  EXPECT_FALSE(server.NextAction().has_value());
  ASSERT_TRUE(server.AcceptPublishNamespace(0, {}).ok());
  size_t answers = 0;
  while (const auto action = server.NextAction()) {
    answers += std::holds_alternative<SendBytes>(*action) ? 1u : 0u;
  }
  EXPECT_EQ(answers, 2u);
}

TEST(Update, OfWhichTooManyWaitEndTheRequest) {
  Limits limits;
  limits.updates_max = 2;
  Session server(Role::kServer, {}, limits, Instant());
  const auto tell = [&](StreamId stream, std::string_view bytes) {
    server.OnStreamData(stream, AsBytes(bytes), false);
  };
  tell(2, std::string_view("\xaf\x00\x00\x00", 4));
  tell(0, std::string_view("\x06\x00\x05\x00\x01\x01n\x00", 8));
  ASSERT_TRUE(server.AcceptPublishNamespace(0, {}).ok());
  for (char id = 2; id <= 6; id = static_cast<char>(id + 2)) {
    tell(0, std::string("\x02\x00\x02", 3) + id + '\0');
  }
  size_t cancelled = 0;
  while (const auto event = server.NextEvent()) {
    cancelled += std::holds_alternative<RequestCancelled>(*event) ? 1u : 0u;
  }
  EXPECT_EQ(cancelled, 1u);
  EXPECT_FALSE(server.closed());
}

TEST_P(UpdateInEveryShape, AsksForANewGroupOnlyWhereTheTrackBeginsThemOnDemand) {
  Parameters wanted;
  wanted.new_group_request = 3;
  SubscribedForUpdate plain;
  EXPECT_FALSE(plain.pair.client().Update(plain.request, wanted).ok());
  SubscribedForUpdate dynamic(PropertiesBuilder().Number(0x30, 1).Build());
  ASSERT_TRUE(dynamic.pair.client().Update(dynamic.request, wanted).ok());
  dynamic.pair.Run();
  EXPECT_EQ(dynamic.pair.One<UpdateReceived>(dynamic.pair.server()).parameters, wanted);
}

}  // namespace
}  // namespace kvcast::moqt
