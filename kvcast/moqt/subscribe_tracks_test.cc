// SUBSCRIBE_TRACKS, from both ends.
#include <gtest/gtest.h>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

TrackNamespace TracksSpace(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}

// A server to which the client has subscribed below ("a", "b"), and which has accepted.
struct TracksSubscribed {
  TracksSubscribed() {
    request = *pair.client().SubscribeTracks(TracksSpace({"a", "b"}), {});
    pair.Run();
    received = pair.One<SubscribeTracksReceived>(pair.server()).request;
    EXPECT_TRUE(pair.server().AcceptSubscribeTracks(received, {}).ok());
    pair.Run();
    EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).request, request);
  }
  SessionPair pair;
  RequestId request;
  RequestId received;
};

class SubscribeTracksInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, SubscribeTracksInEveryShape, EveryShape::Drafts(),
                         EveryShape::Name);

TEST_P(SubscribeTracksInEveryShape, BringsPublicationsOfItsTracks) {
  SessionPair pair;
  Parameters wanted;
  wanted.forward = false;
  const RequestId request = *pair.client().SubscribeTracks(TracksSpace({"a", "b"}), wanted);
  pair.Run();
  const auto received = pair.One<SubscribeTracksReceived>(pair.server());
  EXPECT_EQ(received.prefix, TracksSpace({"a", "b"}));
  EXPECT_EQ(received.parameters, wanted);
  ASSERT_TRUE(pair.server().AcceptSubscribeTracks(received.request, {}).ok());
  EXPECT_FALSE(pair.server().AcceptSubscribeTracks(received.request, {}).ok());
  const TrackName track = *TrackName::Of(TracksSpace({"a", "b", "c"}), "t");
  ASSERT_TRUE(pair.server().Publish(track, wanted, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).request, request);
  EXPECT_EQ(pair.One<PublishReceived>(pair.client()).track, track);
}

TEST_P(SubscribeTracksInEveryShape, IsRefusedWithAReason) {
  SessionPair pair;
  const RequestId request = *pair.client().SubscribeTracks(TracksSpace({"a"}), {});
  pair.Run();
  const auto received = pair.One<SubscribeTracksReceived>(pair.server());
  ASSERT_TRUE(pair.server()
                  .RefuseRequest(received.request, {RequestCode::kNamespaceTooLarge, {}, "no", {}})
                  .ok());
  pair.Run();
  const auto refused = pair.One<RequestRefused>(pair.client());
  EXPECT_EQ(refused.request, request);
  EXPECT_EQ(refused.error.code, RequestCode::kNamespaceTooLarge);
  // It can be asked for again.
  EXPECT_TRUE(pair.client().SubscribeTracks(TracksSpace({"a"}), {}).ok());
}

TEST_P(SubscribeTracksInEveryShape, NamesATrackThatCannotBePublished) {
  TracksSubscribed world;
  const TrackName track = *TrackName::Of(TracksSpace({"a", "b", "c"}), "t");
  ASSERT_TRUE(world.pair.server().SendPublishBlocked(world.received, track).ok());
  EXPECT_FALSE(world.pair.server()
                   .SendPublishBlocked(world.received, *TrackName::Of(TracksSpace({"a", "x"}), "t"))
                   .ok());
  world.pair.Run();
  const auto blocked = world.pair.One<PublishBlockedReceived>(world.pair.client());
  EXPECT_EQ(blocked.request, world.request);
  EXPECT_EQ(blocked.track, track);
}

// A PUBLISH may be large, and whoever wants all tracks below a prefix may read none of them.
TEST(SubscribeTracks, NamesTracksWhosePublishWouldNotBeRead) {
  SessionPair::Options options;
  options.limits.session_answer_bytes = 20'000;
  SessionPair pair(options);
  (void)*pair.client().SubscribeTracks(TracksSpace({"a"}), {});
  pair.Run();
  const RequestId received = pair.One<SubscribeTracksReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptSubscribeTracks(received, {}).ok());
  const Properties large = PropertiesBuilder().Bytes(0x3811, std::string(4000, 'x')).Build();
  size_t published = 0;
  for (int i = 0; i < 8; ++i) {
    const TrackName track = *TrackName::Of(TracksSpace({"a"}), std::to_string(i));
    published += pair.server().Publish(track, {}, large).ok() ? 1u : 0u;
  }
  EXPECT_GT(published, 1u);
  EXPECT_LT(published, 8u);
  pair.Run();
  EXPECT_EQ(pair.Take<PublishReceived>(pair.client()).size(), published);
  EXPECT_EQ(pair.Take<PublishBlockedReceived>(pair.client()).size(), 8 - published);
}

// Which were named is kept, and for that there is only so much room.
TEST(SubscribeTracks, FailsWhenTooManyTracksCannotBePublished) {
  SessionPair::Options options;
  options.limits.request_bytes = 2000;
  SessionPair pair(options);
  (void)*pair.client().SubscribeTracks(TracksSpace({"a"}), {});
  pair.Run();
  const RequestId received = pair.One<SubscribeTracksReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptSubscribeTracks(received, {}).ok());
  size_t named = 0;
  while (named < 1000 && pair.server()
                             .SendPublishBlocked(received, *TrackName::Of(TracksSpace({"a"}),
                                                                          std::to_string(named)))
                             .ok()) {
    ++named;
    ASSERT_LE(pair.server().kept_bytes(), 2000u);
  }
  EXPECT_GT(named, 5u);
  EXPECT_LT(named, 100u);
  pair.Run();
  EXPECT_EQ(pair.One<RequestCancelled>(pair.server()).request, received);
  EXPECT_EQ(pair.Take<RequestCancelled>(pair.client()).size(), 1u);
  EXPECT_EQ(pair.server().kept_bytes(), 0u);
}

TEST_P(SubscribeTracksInEveryShape, IsCancelledByTheSubscriber) {
  TracksSubscribed world;
  world.pair.client().Cancel(world.request, ResetCode::kCancelled);
  world.pair.Run();
  EXPECT_EQ(world.pair.One<RequestCancelled>(world.pair.server()).request, world.received);
  EXPECT_FALSE(world.pair.server()
                   .SendPublishBlocked(world.received, *TrackName::Of(TracksSpace({"a", "b"}), "t"))
                   .ok());
  EXPECT_TRUE(world.pair.client().SubscribeTracks(TracksSpace({"a", "b"}), {}).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.Take<SubscribeTracksReceived>(world.pair.server()).size(), 1u);
}

TEST_P(SubscribeTracksInEveryShape, IsCancelledByThePublisher) {
  TracksSubscribed world;
  world.pair.server().Cancel(world.received, ResetCode::kGoingAway);
  world.pair.Run();
  const auto cancelled = world.pair.One<RequestCancelled>(world.pair.client());
  EXPECT_EQ(cancelled.request, world.request);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kGoingAway));
}

// A subscriber that ends its half in good order leaves as well.
TEST(SubscribeTracks, IsCancelledByTheEndOfItsStream) {
  Session server(Role::kServer, {}, {}, Instant());
  const auto tell = [&](StreamId stream, std::string_view bytes, bool fin) {
    server.OnStreamData(stream, AsBytes(bytes), fin);
  };
  tell(2, std::string_view("\xaf\x00\x00\x00", 4), false);
  tell(0, std::string_view("\x51\x00\x05\x00\x01\x01n\x00", 8), false);
  ASSERT_TRUE(server.AcceptSubscribeTracks(0, {}).ok());
  tell(0, "", true);
  size_t cancelled = 0;
  while (const std::optional<Event> event = server.NextEvent()) {
    cancelled += std::holds_alternative<RequestCancelled>(*event) ? 1U : 0U;
  }
  EXPECT_EQ(cancelled, 1u);
  EXPECT_FALSE(server.closed());
}

TEST_P(SubscribeTracksInEveryShape, MayNotOverlapAnother) {
  TracksSubscribed world;
  for (const auto& prefix : {TracksSpace({"a", "b"}), TracksSpace({"a"}),
                             TracksSpace({"a", "b", "c"}), TracksSpace({})}) {
    EXPECT_EQ(world.pair.client().SubscribeTracks(prefix, {}).error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(world.pair.client().SubscribeTracks(TracksSpace({"a", "bc"}), {}).ok());
  world.pair.Run();
  EXPECT_EQ(world.pair.Take<SubscribeTracksReceived>(world.pair.server()).size(), 1u);
}

// What a client made of bytes is answered on request streams 0 and 4.
struct Answers {
  explicit Answers(const std::vector<std::pair<StreamId, std::string_view>>& messages)
      : server(Role::kServer, {}, {}, Instant()) {
    server.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
    for (const auto& [stream, bytes] : messages) {
      server.OnStreamData(stream, AsBytes(bytes), false);
    }
    while (const std::optional<TransportAction> action = server.NextAction()) {
      if (const auto* send = std::get_if<SendBytes>(&*action); send != nullptr) {
        sent[send->stream] += send->bytes.ToString();
        ended[send->stream] = send->fin;
      }
    }
  }
  // The code of the REQUEST_ERROR that a stream's answers begin with.
  std::optional<RequestCode> Refusal(StreamId stream) {
    const std::string& bytes = sent[stream];
    return bytes.size() > 3 && bytes[0] == 5
               ? std::optional(static_cast<RequestCode>(static_cast<uint8_t>(bytes[3])))
               : std::nullopt;
  }
  Session server;
  std::map<StreamId, std::string> sent;
  std::map<StreamId, bool> ended;
};

constexpr std::string_view kBelowN("\x51\x00\x05\x00\x01\x01n\x00", 8);
constexpr std::string_view kBelowNm("\x51\x00\x07\x02\x02\x01n\x01m\x00", 10);
constexpr std::string_view kBelowO("\x51\x00\x05\x02\x01\x01o\x00", 8);
constexpr std::string_view kMoveToN("\x02\x00\x06\x04\x01\x34\x01\x01n", 9);
constexpr std::string_view kMoveToP("\x02\x00\x06\x04\x01\x34\x01\x01p", 9);

TEST(SubscribeTracks, IsRefusedIfAPeerOverlapsAnyway) {
  Answers answers({{0, kBelowN}, {4, kBelowNm}});
  EXPECT_EQ(answers.Refusal(4), RequestCode::kPrefixOverlap);
  EXPECT_TRUE(answers.ended[4]);
  EXPECT_EQ(answers.sent[0], "");
}

TEST(SubscribeTracks, MovesToAnotherPrefixUnlessThatOverlaps) {
  Answers moved({{0, kBelowN}, {4, kBelowO}, {4, kMoveToP}});
  EXPECT_TRUE(moved.server.AcceptUpdate(2, {}).ok());
  size_t updates = 0;
  while (const std::optional<Event> event = moved.server.NextEvent()) {
    if (const auto* update = std::get_if<UpdateReceived>(&*event)) {
      EXPECT_EQ(update->parameters.namespace_prefix, TracksSpace({"p"}));
      ++updates;
    }
  }
  EXPECT_EQ(updates, 1u);

  Answers refused({{0, kBelowN}, {4, kBelowO}, {4, kMoveToN}});
  EXPECT_EQ(refused.Refusal(4), RequestCode::kPrefixOverlap);
  EXPECT_TRUE(refused.ended[4]);
  EXPECT_FALSE(refused.server.AcceptSubscribeTracks(2, {}).ok());
  EXPECT_TRUE(refused.server.AcceptSubscribeTracks(0, {}).ok());
}

// Whatever is cancelled, whenever, both sides agree, and the prefix is free again.
TEST_P(SubscribeTracksInEveryShape, SurvivesCancellationAtEveryPoint) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 3;
    SessionPair pair(options);
    const RequestId request = *pair.client().SubscribeTracks(TracksSpace({"a"}), {});
    const uint64_t at = seed % 40;
    uint64_t steps = 0;
    do {
      for (const auto& event : pair.Take<SubscribeTracksReceived>(pair.server())) {
        (void)pair.server().AcceptSubscribeTracks(event.request, {}).ok();
        (void)pair.server()
            .SendPublishBlocked(event.request, *TrackName::Of(TracksSpace({"a", "b"}), "t"))
            .ok();
      }
      if (steps++ == at) {
        (seed % 2 == 0 ? pair.client() : pair.server()).Cancel(request, ResetCode::kCancelled);
      }
    } while (pair.Step());
    EXPECT_FALSE(pair.connection_closed()) << "seed " << seed;
    (void)pair.Take<SubscribeTracksReceived>(pair.server());
    pair.client().Cancel(request, ResetCode::kCancelled);
    EXPECT_TRUE(pair.client().SubscribeTracks(TracksSpace({"a"}), {}).ok()) << "seed " << seed;
    pair.Run();
    EXPECT_EQ(pair.Take<SubscribeTracksReceived>(pair.server()).size(), 1u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kvcast::moqt
