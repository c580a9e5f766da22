// What arrives and nobody takes.
#include <gtest/gtest.h>

#include <string>

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

// Streams that come one after another, each with what it may bring at once.
TEST_P(UntakenInEveryShape, HasStreamsRefusedWhenItIsFarTooMuch) {
  SessionPair::Options options;
  options.limits.session_queue_bytes = 10'000;
  options.limits.untaken_bytes_max = 100'000;
  SessionPair pair(options);
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  for (uint64_t group = 0; group < 1000; ++group) {
    SendGroup(pair.client(), sent, group, 1, 1000);
    pair.Run();
  }
  // What remains of a refused stream is that it was.
  EXPECT_LE(pair.server().untaken_bytes(), 110'000u + 1000 * 256);
  EXPECT_FALSE(pair.connection_closed());
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  // Whoever takes them hears of each that was refused.
  size_t objects = 0;
  size_t cut_short = 0;
  while (const std::optional<Received> item = pair.server().Take(received)) {
    objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
    const auto* end = std::get_if<SubgroupEnd>(&*item);
    cut_short += end != nullptr && !end->complete ? 1u : 0u;
  }
  EXPECT_GT(objects, 50u);
  EXPECT_EQ(objects + cut_short, 1000u);
}

}  // namespace
}  // namespace kvcast::moqt
