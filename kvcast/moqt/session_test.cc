#include "kvcast/moqt/session.h"

#include <gtest/gtest.h>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/every_shape_test.h"

namespace kvcast::moqt {
namespace {

TrackName Track(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"kv", "demo"}), name);
}

Object ObjectAt(Location location, std::string_view payload) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of(payload);
  return object;
}

// As our publishers send a group: one subgroup, which has its first and its last object.
SubgroupHeader WholeGroup(uint64_t group) {
  SubgroupHeader header;
  header.group = group;
  header.properties = true;
  header.end_of_group = true;
  header.first_object = true;
  return header;
}

void SendPaddedGroup(Session& session, RequestId request, uint64_t group, uint64_t objects,
                     size_t bytes = 10) {
  const Result<StreamId> subgroup = session.OpenSubgroup(request, WholeGroup(group));
  ASSERT_TRUE(subgroup.ok());
  for (uint64_t i = 0; i < objects; ++i) {
    ASSERT_TRUE(
        session.SendObject(request, *subgroup, ObjectAt({group, i}, std::string(bytes, 'k'))).ok());
  }
  ASSERT_TRUE(session.EndSubgroup(request, *subgroup).ok());
}

struct Taken {
  std::vector<Object> objects;
  std::vector<SubgroupEnd> subgroups;
  std::vector<RangeEnd> ranges;
  std::optional<FetchEnd> fetch_end;
  std::optional<TrackEnd> track_end;
  size_t first_objects = 0;
};

Taken TakeAll(Session& session, RequestId request) {
  Taken taken;
  while (std::optional<Received> item = session.Take(request)) {
    if (auto* object = std::get_if<ReceivedObject>(&*item)) {
      taken.first_objects += object->first_of_subgroup ? 1 : 0;
      taken.objects.push_back(std::move(object->object));
    } else if (auto* subgroup = std::get_if<SubgroupEnd>(&*item)) {
      taken.subgroups.push_back(*subgroup);
    } else if (auto* range = std::get_if<RangeEnd>(&*item)) {
      taken.ranges.push_back(*range);
    } else if (auto* fetch = std::get_if<FetchEnd>(&*item)) {
      taken.fetch_end = *fetch;
    } else {
      taken.track_end = std::get<TrackEnd>(*item);
    }
  }
  return taken;
}

// Every way to cut and order what travels.
std::vector<SessionPair::Options> Ways() {
  std::vector<SessionPair::Options> ways;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed < 10 ? 1 : seed < 20 ? 40 : 1 << 20;
    ways.push_back(options);
  }
  return ways;
}

class SessionInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, SessionInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(SessionInEveryShape, BeginsWithSetupOnBothSides) {
  SessionPair pair;
  pair.Run();
  moqt::Setup client = SessionPair::ClientSetup();
  client.auth_token_cache_bytes_max = 0;
  EXPECT_EQ(pair.One<SetupDone>(pair.server()).peer, client);
  moqt::Setup server;
  server.auth_token_cache_bytes_max = 0;
  EXPECT_EQ(pair.One<SetupDone>(pair.client()).peer, server);
  EXPECT_FALSE(pair.client().deadline().has_value());
}

TEST(Session, GivesUpOnAPeerThatNeverSetsUp) {
  Session session(Role::kServer, {}, {}, Instant());
  session.OnTimeout(*session.deadline() - Duration(1));
  EXPECT_FALSE(session.closed());
  session.OnTimeout(*session.deadline());
  EXPECT_TRUE(session.closed());
}

// The whole road of a publication, also when its objects overtake the request.
TEST_P(SessionInEveryShape, CarriesAPublicationFromBeginningToEnd) {
  for (const SessionPair::Options& options : Ways()) {
    SessionPair pair(options);
    const Properties properties =
        *Properties::Parse(std::string(AsText(*FromHex("0e0580fb03616263"))));
    Parameters parameters;
    parameters.largest_object = Location{6, 0};
    const RequestId sent = *pair.client().Publish(Track("t"), parameters, properties);
    SendPaddedGroup(pair.client(), sent, 7, 3, 1000);
    SendPaddedGroup(pair.client(), sent, 8, 2);
    ASSERT_TRUE(pair.client().EndTrack(sent, DoneCode::kTrackEnded, "done").ok());
    pair.Run();

    const auto received = pair.One<PublishReceived>(pair.server());
    EXPECT_EQ(received.track, Track("t"));
    EXPECT_EQ(received.parameters, parameters);
    EXPECT_EQ(received.properties.encoded(), properties.encoded());
    ASSERT_TRUE(pair.server().AcceptPublish(received.request, {}).ok());
    pair.Run();
    const Taken taken = TakeAll(pair.server(), received.request);
    ASSERT_EQ(taken.objects.size(), 5u);
    EXPECT_EQ(taken.objects[0].priority, 5);
    EXPECT_EQ(taken.first_objects, 2u);
    ASSERT_EQ(taken.subgroups.size(), 2u);
    EXPECT_TRUE(taken.subgroups[0].complete && taken.subgroups[0].end_of_group);
    ASSERT_TRUE(taken.track_end.has_value());
    EXPECT_EQ(taken.track_end->done.streams, 2u);
    EXPECT_EQ(pair.One<PublishDoneReceived>(pair.server()).done.reason, "done");
    EXPECT_EQ(pair.server().untaken_bytes(), 0u);
    EXPECT_FALSE(pair.server().AcceptPublish(received.request, {}).ok());
    EXPECT_FALSE(pair.connection_closed());
  }
}

TEST_P(SessionInEveryShape, TellsThePublisherThatItWasAccepted) {
  SessionPair pair;
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();
  Parameters answer;
  answer.forward = false;
  ASSERT_TRUE(
      pair.server().AcceptPublish(pair.One<PublishReceived>(pair.server()).request, answer).ok());
  pair.Run();
  EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).parameters, answer);
  EXPECT_EQ(pair.client().OpenSubgroup(sent, WholeGroup(0)).error().code(), ErrorCode::kInvalid);
}

TEST_P(SessionInEveryShape, DropsWhatARefusedPublisherSends) {
  for (const SessionPair::Options& options : Ways()) {
    SessionPair pair(options);
    const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
    const StreamId subgroup = *pair.client().OpenSubgroup(sent, WholeGroup(0));
    ASSERT_TRUE(pair.client().SendObject(sent, subgroup, ObjectAt({0, 0}, "k")).ok());
    pair.Run();
    const RequestId received = pair.One<PublishReceived>(pair.server()).request;
    RequestError error{RequestCode::kUninterested, 50, "no", {}};
    ASSERT_TRUE(pair.server().RefuseRequest(received, error).ok());
    pair.Run();
    const auto refused = pair.One<RequestRefused>(pair.client());
    EXPECT_EQ(refused.request, sent);
    EXPECT_EQ(refused.error.code, RequestCode::kUninterested);
    EXPECT_EQ(refused.error.retry_after_ms, 50u);
    EXPECT_FALSE(pair.client().SendObject(sent, subgroup, ObjectAt({0, 1}, "k")).ok());
    (void)TakeAll(pair.server(), received);
    EXPECT_EQ(pair.server().untaken_bytes(), 0u);
    // The track may be offered again.
    ASSERT_TRUE(pair.client().Publish(Track("t"), {}, {}).ok());
    pair.Run();
    EXPECT_EQ(pair.Take<PublishReceived>(pair.server()).size(), 1u);
    EXPECT_FALSE(pair.connection_closed());
  }
}

TEST_P(SessionInEveryShape, CarriesASubscription) {
  for (const SessionPair::Options& options : Ways()) {
    SessionPair pair(options);
    const RequestId asked = *pair.client().Subscribe(Track("t"), {});
    pair.Run();
    const auto received = pair.One<SubscribeReceived>(pair.server());
    Parameters parameters;
    parameters.largest_object = Location{3, 4};
    ASSERT_TRUE(pair.server().AcceptSubscribe(received.request, parameters, {}).ok());
    SendPaddedGroup(pair.server(), received.request, 5, 4, 700);
    pair.Run();
    EXPECT_EQ(pair.One<RequestAccepted>(pair.client()).parameters, parameters);
    EXPECT_EQ(TakeAll(pair.client(), asked).objects.size(), 4u);
    SendPaddedGroup(pair.server(), received.request, 6, 1);
    ASSERT_TRUE(pair.server().EndTrack(received.request, DoneCode::kTrackEnded, "").ok());
    pair.Run();
    const Taken rest = TakeAll(pair.client(), asked);
    EXPECT_EQ(rest.objects.size(), 1u);
    EXPECT_TRUE(rest.track_end.has_value());
    EXPECT_FALSE(pair.connection_closed());
  }
}

TEST_P(SessionInEveryShape, EndsASubscriptionThatTheSubscriberCancels) {
  SessionPair pair;
  const RequestId asked = *pair.client().Subscribe(Track("t"), {});
  pair.Run();
  const RequestId received = pair.One<SubscribeReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptSubscribe(received, {}, {}).ok());
  const StreamId subgroup = *pair.server().OpenSubgroup(received, WholeGroup(0));
  ASSERT_TRUE(pair.server().SendObject(received, subgroup, ObjectAt({0, 0}, "k")).ok());
  pair.Run();
  pair.client().Cancel(asked, ResetCode::kCancelled);
  EXPECT_EQ(pair.client().untaken_bytes(), 0u);
  pair.Run();
  EXPECT_EQ(pair.One<RequestCancelled>(pair.server()).request, received);
  EXPECT_FALSE(pair.server().SendObject(received, subgroup, ObjectAt({0, 1}, "k")).ok());
  EXPECT_TRUE(pair.Take<RequestCancelled>(pair.client()).empty());
}

TEST_P(SessionInEveryShape, CarriesAFetch) {
  for (const SessionPair::Options& options : Ways()) {
    SessionPair pair(options);
    Parameters parameters;
    parameters.fill_timeout_ms = 0;
    const RequestId asked =
        *pair.client().Fetch(Track("t"), LocationRange::Groups(2, 9), parameters);
    pair.Run();
    const auto received = pair.One<FetchReceived>(pair.server());
    EXPECT_EQ(received.range, LocationRange::Groups(2, 9));
    EXPECT_EQ(received.parameters, parameters);
    Session& server = pair.server();
    Object object = ObjectAt({2, 0}, std::string(3000, 'p'));
    object.properties = PropertiesBuilder().Bytes(0x3801, "key").Build();
    ASSERT_TRUE(server.SendFetched(received.request, object).ok());
    FetchOk answer;
    answer.last = {4, 7};
    ASSERT_TRUE(server.AcceptFetch(received.request, answer).ok());
    ASSERT_TRUE(server.SendFetched(received.request, ObjectAt({2, 1}, "")).ok());
    ASSERT_TRUE(server.SendFetched(received.request, RangeEnd{{4, 2}, true}).ok());
    ASSERT_TRUE(server.SendFetched(received.request, ObjectAt({4, 7}, "q")).ok());
    EXPECT_FALSE(server.SendFetched(received.request, ObjectAt({4, 7}, "q")).ok());
    EXPECT_FALSE(server.SendFetched(received.request, ObjectAt({10, 7}, "q")).ok());
    ASSERT_TRUE(server.EndFetch(received.request).ok());
    pair.Run();
    EXPECT_EQ(pair.One<FetchAccepted>(pair.client()).answer.last, (Location{4, 7}));
    const Taken taken = TakeAll(pair.client(), asked);
    ASSERT_EQ(taken.objects.size(), 3u);
    EXPECT_EQ(taken.objects[0].properties, object.properties);
    EXPECT_EQ(taken.objects[2].location, (Location{4, 7}));
    EXPECT_EQ(taken.ranges, (std::vector<RangeEnd>{{{4, 2}, true}}));
    EXPECT_TRUE(taken.fetch_end->complete);
    EXPECT_FALSE(pair.client().Take(asked).has_value());
    EXPECT_FALSE(pair.connection_closed());
  }
}

TEST(Session, TellsThatAFetchIsRefusedOrBroken) {
  SessionPair pair;
  const RequestId refused = *pair.client().Fetch(Track("a"), LocationRange::Groups(0, 1), {});
  const RequestId broken = *pair.client().Fetch(Track("b"), LocationRange::Groups(0, 1), {});
  pair.Run();
  for (const FetchReceived& received : pair.Take<FetchReceived>(pair.server())) {
    if (received.track == Track("a")) {
      ASSERT_TRUE(pair.server()
                      .RefuseRequest(received.request, {RequestCode::kInvalidRange, {}, "", {}})
                      .ok());
    } else {
      ASSERT_TRUE(pair.server().AcceptFetch(received.request, {}).ok());
      ASSERT_TRUE(pair.server().SendFetched(received.request, ObjectAt({0, 0}, "k")).ok());
      pair.Run();
      ASSERT_TRUE(pair.server().ResetFetch(received.request, ResetCode::kUnknownObjectStatus).ok());
    }
  }
  pair.Run();
  EXPECT_EQ(pair.One<RequestRefused>(pair.client()).request, refused);
  const auto cancelled = pair.One<RequestCancelled>(pair.client());
  EXPECT_EQ(cancelled.request, broken);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kUnknownObjectStatus));
  EXPECT_EQ(TakeAll(pair.client(), broken).objects.size(), 1u);
}

// A reset drops what was not delivered, the stream's header too, and then names no fetch.
TEST(Session, FetchResetBeforeItsHeaderCameIsOver) {
  SessionPair pair;
  const RequestId asked = *pair.client().Fetch(Track("a"), LocationRange::Groups(0, 1), {});
  pair.Run();
  ASSERT_TRUE(pair.server().AcceptFetch(asked, {}).ok());
  ASSERT_TRUE(pair.server().ResetFetch(asked, ResetCode::kUnknownObjectStatus).ok());
  pair.Run();
  const auto cancelled = pair.One<RequestCancelled>(pair.client());
  EXPECT_EQ(cancelled.request, asked);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(ResetCode::kUnknownObjectStatus));
}

TEST_P(SessionInEveryShape, AnswersTrackStatus) {
  SessionPair pair;
  const RequestId asked = *pair.client().AskTrackStatus(Track("t"), {});
  pair.Run();
  const auto received = pair.One<TrackStatusReceived>(pair.server());
  Parameters parameters;
  parameters.largest_object = Location{1, 2};
  const Properties properties = PropertiesBuilder().Number(4, 1000).Build();
  ASSERT_TRUE(pair.server().AnswerTrackStatus(received.request, parameters, properties).ok());
  pair.Run();
  const auto accepted = pair.One<RequestAccepted>(pair.client());
  EXPECT_EQ(accepted.request, asked);
  EXPECT_EQ(accepted.parameters, parameters);
  EXPECT_EQ(accepted.properties, properties);
  EXPECT_FALSE(pair.server().AnswerTrackStatus(received.request, {}, {}).ok());
}

TEST_P(SessionInEveryShape, RefusesNewRequestsOnceItHasSaidGoodbye) {
  SessionPair pair;
  const RequestId before = *pair.client().Fetch(Track("a"), LocationRange::Groups(0, 1), {});
  pair.Run();
  ASSERT_TRUE(pair.server().SendGoAway("moqt://elsewhere", 500).ok());
  const RequestId after = *pair.client().Fetch(Track("b"), LocationRange::Groups(0, 1), {});
  pair.Run();
  const auto away = pair.One<GoAwayReceived>(pair.client());
  EXPECT_EQ(away.message.uri, "moqt://elsewhere");
  EXPECT_EQ(away.message.request_id, Named(after));
  const auto refused = pair.One<RequestRefused>(pair.client());
  EXPECT_EQ(refused.request, after);
  EXPECT_EQ(refused.error.code, RequestCode::kGoingAway);
  EXPECT_EQ(pair.One<FetchReceived>(pair.server()).request, before);
  EXPECT_FALSE(pair.client().Fetch(Track("c"), LocationRange::Groups(0, 1), {}).ok());
}

// A consumer that does not take stops its own streams, and nothing else.
TEST_P(SessionInEveryShape, StopsOnlyTheStreamsOfWhoDoesNotTake) {
  SessionPair::Options options;
  options.stream_window = 64 * 1024;
  options.limits.stream_queue_bytes = 32 * 1024;
  options.cut_max = 1500;
  SessionPair pair(options);
  const RequestId slow = *pair.client().Publish(Track("slow"), {}, {});
  const RequestId fast = *pair.client().Publish(Track("fast"), {}, {});
  SendPaddedGroup(pair.client(), slow, 0, 100, 10000);
  SendPaddedGroup(pair.client(), fast, 0, 100, 10000);
  std::map<std::string, RequestId> at_server;
  size_t fast_objects = 0;
  while (pair.Step()) {
    for (const PublishReceived& received : pair.Take<PublishReceived>(pair.server())) {
      ASSERT_TRUE(pair.server().AcceptPublish(received.request, {}).ok());
      at_server[received.track.name()] = received.request;
    }
    if (at_server.contains("fast")) {
      fast_objects += TakeAll(pair.server(), at_server["fast"]).objects.size();
    }
  }
  EXPECT_EQ(fast_objects, 100u);
  EXPECT_LE(pair.server().untaken_bytes(), 128u * 1024);
  EXPECT_GE(pair.Waiting(pair.client()), 800000u);
  EXPECT_EQ(pair.client().queued_bytes(fast), 0u);
  EXPECT_GE(pair.client().queued_bytes(slow), 800000u);
  // Once it takes, the rest comes.
  size_t slow_objects = 0;
  do {
    slow_objects += TakeAll(pair.server(), at_server["slow"]).objects.size();
  } while (pair.Step());
  EXPECT_EQ(slow_objects + TakeAll(pair.server(), at_server["slow"]).objects.size(), 100u);
}

// An object larger than every window passes, as long as it is alone.
TEST_P(SessionInEveryShape, PassesAnObjectLargerThanTheWindow) {
  SessionPair::Options options;
  options.stream_window = 16 * 1024;
  options.limits.stream_queue_bytes = 16 * 1024;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  SendPaddedGroup(pair.client(), sent, 0, 1, 500000);
  pair.Run();
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  const Taken taken = TakeAll(pair.server(), received);
  ASSERT_EQ(taken.objects.size(), 1u);
  EXPECT_EQ(taken.objects[0].payload.size(), 500000u);
}

// Also where a stream's first bytes bring a whole object at once.
TEST_P(SessionInEveryShape, GivesCreditBackToAStreamOfSmallObjects) {
  SessionPair::Options options;
  options.stream_window = 10000;
  options.limits.stream_queue_bytes = 10000;
  SessionPair pair(options);
  const RequestId asked = *pair.client().Fetch(Track("f"), LocationRange::Groups(0, 0), {});
  pair.Run();
  const RequestId received = pair.One<FetchReceived>(pair.server()).request;
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(pair.server().SendFetched(received, ObjectAt({0, i}, std::string(1000, 'f'))).ok());
  }
  ASSERT_TRUE(pair.server().EndFetch(received).ok());
  size_t objects = 0;
  do {
    objects += TakeAll(pair.client(), asked).objects.size();
  } while (pair.Step());
  EXPECT_EQ(objects + TakeAll(pair.client(), asked).objects.size(), 100u);
}

TEST_P(SessionInEveryShape, TellsASenderWhenThereIsRoom) {
  SessionPair::Options options;
  options.limits.send_queue_high_bytes = 50000;
  options.limits.send_queue_low_bytes = 10000;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  SendPaddedGroup(pair.client(), sent, 0, 10, 10000);
  EXPECT_GE(pair.client().queued_bytes(sent), 100000u);
  pair.Run();
  EXPECT_EQ(pair.One<SendRoom>(pair.client()).request, sent);
  EXPECT_EQ(pair.client().queued_bytes(sent), 0u);
}

TEST_P(SessionInEveryShape, GoesOnWithoutASubgroupThatThePeerStops) {
  SessionPair pair;
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  const StreamId subgroup = *pair.client().OpenSubgroup(sent, WholeGroup(0));
  pair.client().OnStopSending(subgroup, 1);
  EXPECT_EQ(pair.One<SubgroupStopped>(pair.client()).subgroup, subgroup);
  EXPECT_EQ(pair.client().SendObject(sent, subgroup, ObjectAt({0, 0}, "k")).error().code(),
            ErrorCode::kNotFound);
  EXPECT_TRUE(pair.client().OpenSubgroup(sent, WholeGroup(1)).ok());
}

// Whatever is reset or cancelled, whenever: both sides stay consistent, and hold nothing.
TEST_P(SessionInEveryShape, SurvivesResetsAtEveryPoint) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 30;
    SessionPair pair(options);
    Random random(seed);
    std::vector<std::pair<Session*, RequestId>> requests;
    const RequestId sent = *pair.client().Publish(Track("p"), {}, {});
    const RequestId asked = *pair.client().Fetch(Track("f"), LocationRange::Groups(0, 5), {});
    const RequestId wanted = *pair.client().Subscribe(Track("s"), {});
    for (const RequestId id : {sent, asked, wanted}) {
      requests.emplace_back(&pair.client(), id);
      requests.emplace_back(&pair.server(), id);
    }
    SendPaddedGroup(pair.client(), sent, 0, 3, 50);
    const StreamId open = *pair.client().OpenSubgroup(sent, WholeGroup(1));
    (void)pair.client().SendObject(sent, open, ObjectAt({1, 0}, "k")).ok();
    const uint64_t at = random.Below(60);
    uint64_t steps = 0;
    while (pair.Step()) {
      for (const auto& event : pair.Take<PublishReceived>(pair.server())) {
        (void)pair.server().AcceptPublish(event.request, {}).ok();
      }
      for (const auto& event : pair.Take<FetchReceived>(pair.server())) {
        (void)pair.server().SendFetched(event.request, ObjectAt({0, 0}, std::string(60, 'f'))).ok();
        (void)pair.server().AcceptFetch(event.request, {}).ok();
        (void)pair.server().EndFetch(event.request).ok();
      }
      for (const auto& event : pair.Take<SubscribeReceived>(pair.server())) {
        if (pair.server().AcceptSubscribe(event.request, {}, {}).ok()) {  // It may be over.
          SendPaddedGroup(pair.server(), event.request, 0, 2, 40);
        }
      }
      if (++steps == at) {
        const auto& [session, id] = requests[random.Below(requests.size())];
        session->Cancel(id, ResetCode::kCancelled);
        (void)pair.client().ResetSubgroup(sent, open, ResetCode::kDeliveryTimeout).ok();
      }
    }
    for (const auto& [session, id] : requests) {
      EXPECT_FALSE(session->closed()) << "seed " << seed;
      session->Cancel(id, ResetCode::kCancelled);
    }
    pair.Run();
    EXPECT_EQ(pair.client().untaken_bytes(), 0u) << "seed " << seed;
    EXPECT_EQ(pair.server().untaken_bytes(), 0u) << "seed " << seed;
    EXPECT_EQ(pair.client().queued_bytes(sent), 0u) << "seed " << seed;
    EXPECT_FALSE(pair.connection_closed()) << "seed " << seed;
  }
}

TEST_P(SessionInEveryShape, ClosesWithACodeOnBothSides) {
  SessionPair pair;
  pair.Run();
  pair.client().Close(SessionCode::kNoError, "bye");
  pair.Run();
  EXPECT_FALSE(pair.One<SessionClosed>(pair.client()).by_peer);
  const auto closed = pair.One<SessionClosed>(pair.server());
  EXPECT_TRUE(closed.by_peer);
  EXPECT_EQ(closed.reason, "bye");
  EXPECT_FALSE(pair.client().Publish(Track("t"), {}, {}).ok());
}

}  // namespace
}  // namespace kvcast::moqt
