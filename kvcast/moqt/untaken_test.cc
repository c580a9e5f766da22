// What arrives and nobody takes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/sent_group_test.h"

namespace kvcast::moqt {
namespace {

size_t CountTaken(Session& session, RequestId request) {
  size_t objects = 0;
  while (const std::optional<Received> item = session.Take(request)) {
    objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
  }
  return objects;
}

class UntakenInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, UntakenInEveryShape, EveryShape::Drafts(), EveryShape::Name);

// However much waits to be taken: what is taken, and what controls the session, goes on.
TEST_P(UntakenInEveryShape, StopsOnlyItsOwnStreamsWhenItFillsTheSession) {
  SessionPair::Options options;
  options.stream_window = 20'000;
  options.connection_window = 100'000;
  options.limits.stream_queue_bytes = 10'000;
  options.limits.session_queue_bytes = 100'000;
  options.limits.untaken_bytes_max = 1'000'000;
  SessionPair pair(options);
  const RequestId slow = *pair.client().Publish(Track("slow"), {}, {});
  const RequestId fast = *pair.client().Publish(Track("fast"), {}, {});
  pair.Run();
  for (const PublishReceived& received : pair.Take<PublishReceived>(pair.server())) {
    ASSERT_TRUE(pair.server().AcceptPublish(received.request, {}).ok());
  }
  for (uint64_t group = 0; group < 20; ++group) {
    SendGroup(pair.client(), slow, group, 10, 5000);
  }
  pair.Run();
  EXPECT_GE(pair.server().untaken_bytes(), 100'000u);
  EXPECT_GT(pair.Waiting(pair.client()), 300'000u);  // Each stream has stopped for itself.
  SendGroup(pair.client(), fast, 0, 100, 10'000);
  size_t fast_objects = 0;
  while (pair.Step()) {
    fast_objects += CountTaken(pair.server(), fast);
  }
  EXPECT_EQ(fast_objects, 100u);
  ASSERT_TRUE(pair.client().AskTrackStatus(Track("q"), {}).ok());
  pair.Run();
  EXPECT_EQ(pair.Take<TrackStatusReceived>(pair.server()).size(), 1u);
  size_t slow_objects = 0;
  do {
    slow_objects += CountTaken(pair.server(), slow);
  } while (pair.Step());
  EXPECT_EQ(slow_objects + CountTaken(pair.server(), slow), 200u);
}

// A stream that is over takes no more credit: then it is the number of streams that stops.
TEST_P(UntakenInEveryShape, LetsThePeerBeginNoMoreStreamsWhenItFillsTheSession) {
  SessionPair::Options options;
  options.limits.session_queue_bytes = 10'000;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  for (uint64_t group = 0; group < 20; ++group) {
    EXPECT_EQ(pair.server().MayOpenMore(), pair.server().untaken_bytes() < 10'000);
    SendGroup(pair.client(), sent, group, 1, 1000);
    pair.Run();
  }
  EXPECT_FALSE(pair.server().MayOpenMore());
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  EXPECT_EQ(CountTaken(pair.server(), received), 20u);
  EXPECT_TRUE(pair.server().MayOpenMore());
}

// Two tracks, of which nobody takes the first, on a connection whose streams are all used up.
class NoRoomTest : public testing::Test {
 protected:
  NoRoomTest() : pair_(Crowdable()) {
    for (const char* name : {"slow", "fast"}) {
      (void)pair_.client().Publish(Track(name), {}, {}).value();
    }
    pair_.Run();
    for (const PublishReceived& received : pair_.Take<PublishReceived>(pair_.server())) {
      (received.track == Track("slow") ? slow_ : fast_) = received.request;
    }
    pair_.server().OnTime(kStart);
    SendGroup(pair_.client(), slow_, 0, 12, 1000);  // Over,
    SubgroupHeader header;
    header.group = 1;
    const StreamId open = *pair_.client().OpenSubgroup(slow_, header);
    Object object;
    object.location = {1, 0};
    object.payload = Bytes::Of("x");
    EXPECT_TRUE(pair_.client().SendObject(slow_, open, object).ok());  // and not over.
    pair_.Run();
    EXPECT_FALSE(pair_.server().MayOpenMore());
  }
  static SessionPair::Options Crowdable() {
    SessionPair::Options options;
    options.limits.session_queue_bytes = 10'000;
    return options;
  }
  std::vector<RequestCancelled> CancelledBy(Instant now) {
    pair_.server().OnTimeout(now);
    return pair_.Take<RequestCancelled>(pair_.server());
  }

  static constexpr Instant kStart = Instant(std::chrono::hours(1));
  const Duration patience_ = Limits().room_patience;
  SessionPair pair_;
  RequestId slow_ = 0;
  RequestId fast_ = 0;
};

TEST_F(NoRoomTest, WhatNobodyTakesGivesWayToWhatIsTaken) {
  EXPECT_FALSE(pair_.server().deadline().has_value());  // Nobody is kept from anything yet.
  pair_.server().OnStreamsUsedUp();
  pair_.server().OnTime(kStart + patience_ / 2);
  pair_.server().OnStreamsUsedUp();  // Again, which does not begin it anew.
  EXPECT_EQ(pair_.server().deadline(), kStart + patience_);
  EXPECT_TRUE(CancelledBy(kStart + patience_ - Duration(1)).empty());
  const auto cancelled = CancelledBy(kStart + patience_);
  ASSERT_EQ(cancelled.size(), 1u);
  EXPECT_EQ(cancelled[0].request, slow_);
  EXPECT_EQ(cancelled[0].code, static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  EXPECT_EQ(pair_.server().untaken_bytes(), 0u);
  EXPECT_TRUE(pair_.server().MayOpenMore());
  SendGroup(pair_.client(), fast_, 0, 5, 1000);
  pair_.Run();
  EXPECT_EQ(CountTaken(pair_.server(), fast_), 5u);
  EXPECT_EQ(pair_.One<RequestCancelled>(pair_.client()).request, slow_);
  EXPECT_FALSE(pair_.server().deadline().has_value());
}

TEST_F(NoRoomTest, WhoMakesRoomInTimeLosesNothing) {
  pair_.server().OnStreamsUsedUp();
  while (!pair_.server().MayOpenMore()) {
    ASSERT_TRUE(pair_.server().Take(slow_).has_value());
  }
  EXPECT_TRUE(CancelledBy(kStart + patience_).empty());
  SendGroup(pair_.client(), slow_, 2, 12, 1000);
  pair_.Run();
  EXPECT_FALSE(pair_.server().MayOpenMore());
  pair_.server().OnStreamsUsedUp();  // From here on it counts anew.
  EXPECT_TRUE(CancelledBy(kStart + 2 * patience_ - Duration(1)).empty());
  EXPECT_GT(CountTaken(pair_.server(), slow_), 12u);
}

// There is nobody whom it could keep from anything.
TEST_F(NoRoomTest, WhoIsAloneMayTakeTheirTime) {
  pair_.server().Cancel(fast_, ResetCode::kCancelled);
  pair_.server().OnStreamsUsedUp();
  EXPECT_TRUE(CancelledBy(kStart + 100 * patience_).empty());
  EXPECT_EQ(CountTaken(pair_.server(), slow_), 13u);
}

// All of it has come, and its user has yet to take it: they hear that it is gone.
TEST_F(NoRoomTest, ARequestThatIsOverGivesWayToo) {
  ASSERT_TRUE(pair_.client().EndTrack(slow_, DoneCode::kTrackEnded, "").ok());
  pair_.Run();
  pair_.server().OnStreamsUsedUp();
  const auto cancelled = CancelledBy(kStart + patience_);
  ASSERT_EQ(cancelled.size(), 1u);
  EXPECT_EQ(cancelled[0].request, slow_);
  EXPECT_EQ(pair_.server().untaken_bytes(), 0u);
  EXPECT_FALSE(pair_.server().Take(slow_).has_value());
}

// What a user takes: objects, and streams that did not end well.
struct TakenCount {
  size_t objects = 0;
  size_t cut_short = 0;

  void Take(Session& session, RequestId request) {
    while (const std::optional<Received> item = session.Take(request)) {
      objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
      const auto* end = std::get_if<SubgroupEnd>(&*item);
      cut_short += end != nullptr && !end->complete ? 1u : 0u;
    }
  }
};

// Streams that come one after another, each with what it may bring at once: they wait as they came.
TEST_P(UntakenInEveryShape, LosesNoStreamsHoweverManyCome) {
  SessionPair::Options options;
  options.limits.session_queue_bytes = 10'000;
  options.limits.untaken_bytes_max = 100'000;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  for (uint64_t group = 0; group < 1000; ++group) {
    SendGroup(pair.client(), sent, group, 1, 1000);
    pair.Run();
  }
  EXPECT_LE(pair.server().untaken_bytes(), 1000 * 1010u);  // By the wire.
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  TakenCount count;
  count.Take(pair.server(), received);
  EXPECT_EQ(count.objects, 1000u);
  EXPECT_EQ(count.cut_short, 0u);
  EXPECT_EQ(pair.server().untaken_bytes(), 0u);
}

// As objects, those of a byte would take sixty times the memory that they take on the wire.
TEST_P(UntakenInEveryShape, LeavesSmallObjectsAsTheyCame) {
  SessionPair::Options options;
  options.stream_window = 4'000;
  options.limits.stream_queue_bytes = 2'000;
  options.limits.session_queue_bytes = 20'000;
  options.limits.untaken_bytes_max = 40'000;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();  // Streams that come before their track have their credit back at once.
  constexpr uint64_t kStreams = 10;
  constexpr uint64_t kObjects = 2000;  // On each, more than its window holds.
  for (uint64_t group = 0; group < kStreams; ++group) {
    SendGroup(pair.client(), sent, group, kObjects, 1);
  }
  pair.Run();
  EXPECT_GE(pair.server().untaken_bytes(), 20'000u);
  EXPECT_LE(pair.server().untaken_bytes(), 22'000 + kStreams * 4'000);
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  TakenCount count;
  do {
    count.Take(pair.server(), received);
    EXPECT_LE(pair.server().untaken_bytes(), 22'000 + kStreams * 4'000);
  } while (pair.Step());
  EXPECT_EQ(count.objects, kStreams * kObjects);
  EXPECT_EQ(count.cut_short, 0u);
}

// Each of so many requests has nothing untaken until its first object comes.
TEST_P(UntakenInEveryShape, StopsAllObjectsWhenItIsFarTooMuch) {
  SessionPair::Options options;
  options.stream_window = 5'000;
  options.limits.object_bytes_max = 20'000;
  options.limits.session_queue_bytes = 20'000;
  options.limits.untaken_bytes_max = 100'000;
  options.limits.partial_bytes = 100'000;
  SessionPair pair(options);
  constexpr size_t kTracks = 50;
  std::vector<RequestId> sent;
  for (size_t i = 0; i < kTracks; ++i) {
    sent.push_back(*pair.client().Publish(Track("t" + std::to_string(i)), {}, {}));
  }
  pair.Run();
  for (const RequestId request : sent) {
    SendGroup(pair.client(), request, 0, 1, 10'000);
  }
  pair.Run();
  // Beyond the limit, each has what its window holds.
  EXPECT_LE(pair.server().untaken_bytes(), 110'000 + kTracks * 5'000);
  EXPECT_GT(pair.Waiting(pair.client()), 100'000u);
  ASSERT_TRUE(pair.client().AskTrackStatus(Track("q"), {}).ok());
  pair.Run();
  EXPECT_EQ(pair.Take<TrackStatusReceived>(pair.server()).size(), 1u);
  const auto tracks = pair.Take<PublishReceived>(pair.server());
  TakenCount count;
  do {
    for (const PublishReceived& track : tracks) {
      count.Take(pair.server(), track.request);
    }
  } while (pair.Step());
  EXPECT_EQ(count.objects, kTracks);
  EXPECT_EQ(count.cut_short, 0u);
}

// All of them are taken as soon as they are whole, but there is no memory for all at a time.
TEST_P(UntakenInEveryShape, LetsLargeObjectsEndOneAfterTheOther) {
  constexpr uint64_t kObjects = 20;
  constexpr size_t kBytes = 200'000;
  constexpr size_t kWindow = 32 * 1024;
  SessionPair::Options options;
  options.stream_window = kWindow;
  options.cut_max = 2000;
  options.limits.object_bytes_max = kBytes;
  options.limits.partial_bytes = 2 * kBytes;
  // What lets only some go on, what those lack, and what the others' windows have let in.
  options.limits.partial_bytes_max = 2 * kBytes + 2 * kBytes + kObjects * 2 * kWindow;
  static_assert(4 * kBytes + kObjects * 2 * kWindow < kObjects * kBytes);
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  for (uint64_t group = 0; group < kObjects; ++group) {
    SendGroup(pair.client(), sent, group, 1, kBytes);
  }
  TakenCount count;
  while (pair.Step()) {
    count.Take(pair.server(), sent);
  }
  EXPECT_EQ(count.objects, kObjects);
  EXPECT_EQ(count.cut_short, 0u);
}

}  // namespace
}  // namespace kvcast::moqt
