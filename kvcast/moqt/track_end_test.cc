// How a subscription begins to bring objects, and how it ends.
#include <gtest/gtest.h>

#include <string>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/codec_test.h"
#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/sent_group_test.h"

namespace kvcast::moqt {
namespace {

using namespace std::chrono_literals;

struct TakenTrack {
  size_t objects = 0;
  std::vector<TrackEnd> ends;
};

TakenTrack TakeTrack(Session& session, RequestId request) {
  TakenTrack taken;
  while (const std::optional<Received> item = session.Take(request)) {
    taken.objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
    if (const auto* end = std::get_if<TrackEnd>(&*item)) {
      taken.ends.push_back(*end);
    }
  }
  return taken;
}

// A publisher that began with FORWARD 0 waits for an answer; one that says nothing of it means 1.
TEST(PublishOk, TurnsForwardingOnUnlessItSaysOtherwise) {
  for (const std::optional<bool> said :
       {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    SessionPair pair;
    Parameters none;
    none.forward = false;
    const RequestId sent = *pair.client().Publish(Track("t"), none, {});
    pair.Run();
    EXPECT_FALSE(pair.client().OpenSubgroup(sent, {}).ok());
    Parameters answer;
    answer.forward = said;
    const RequestId received = pair.One<PublishReceived>(pair.server()).request;
    ASSERT_TRUE(pair.server().AcceptPublish(received, answer).ok());
    pair.Run();
    EXPECT_EQ(pair.client().OpenSubgroup(sent, {}).ok(), said.value_or(true));
  }
}

class TrackEndInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, TrackEndInEveryShape, EveryShape::Drafts(), EveryShape::Name);

// PUBLISH_DONE counts a stream of which nothing came: it is waited for, but not for ever.
TEST_P(TrackEndInEveryShape, ComesThoughAStreamNeverCame) {
  SessionPair pair;
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  Parameters wanted;
  wanted.subgroup_delivery_timeout_ms = 20'000;
  ASSERT_TRUE(pair.server().AcceptPublish(received, wanted).ok());
  SendGroup(pair.client(), sent, 0, 3, 10);
  const StreamId lost = *pair.client().OpenSubgroup(sent, {});
  pair.client().OnBytesSent(lost, 1);  // Which get lost, and are not sent again after a reset.
  ASSERT_TRUE(pair.client().ResetSubgroup(sent, lost, ResetCode::kDeliveryTimeout).ok());
  pair.Run();
  ASSERT_TRUE(pair.client().EndTrack(sent, DoneCode::kTrackEnded, "").ok());
  pair.Run();
  TakenTrack taken = TakeTrack(pair.server(), received);
  EXPECT_EQ(taken.objects, 3u);
  EXPECT_TRUE(taken.ends.empty());
  ASSERT_EQ(pair.server().deadline(), Instant() + 20s);
  pair.server().OnTimeout(Instant() + 20s);
  taken = TakeTrack(pair.server(), received);
  ASSERT_EQ(taken.ends.size(), 1u);
  EXPECT_FALSE(taken.ends[0].complete);
  EXPECT_FALSE(pair.server().deadline().has_value());
  pair.Run();
  ASSERT_TRUE(pair.client().Publish(Track("t"), {}, {}).ok());
  pair.Run();
  EXPECT_EQ(pair.Take<PublishReceived>(pair.server()).size(), 1u);
}

// Streams that have come by then may end as they like.
TEST(TrackEnd, WaitsForStreamsThatAreOpen) {
  Session server(Role::kServer, {}, {}, Instant());
  const auto say = [&](StreamId stream, const std::string& hex, bool fin = false) {
    server.OnStreamData(stream, AsBytes(Unhex(hex)), fin);
  };
  say(2, "af000000");
  say(0, "1d00080001016101620700");  // PUBLISH, alias 7.
  ASSERT_TRUE(server.AcceptPublish(0, {}).ok());
  say(6, "1007000000026161");                                    // An object, and more may follow.
  say(0, Hex(PublishDone{DoneCode::kTrackEnded, 2, ""}), true);  // Of two streams.
  ASSERT_EQ(server.deadline(), Instant() + Limits().end_patience);
  server.OnTimeout(Instant() + Limits().end_patience);
  EXPECT_TRUE(TakeTrack(server, 0).ends.empty());
  say(6, "00026262", true);
  EXPECT_EQ(TakeTrack(server, 0).objects, 1u);
  server.OnTimeout(*server.deadline());
  const TakenTrack taken = TakeTrack(server, 0);
  ASSERT_EQ(taken.ends.size(), 1u);
  EXPECT_FALSE(taken.ends[0].complete);
}

TEST_P(TrackEndInEveryShape, IsCompleteAndComesAtOnceWhereAllStreamsCame) {
  SessionPair pair;
  const RequestId sent = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();
  const RequestId received = pair.One<PublishReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptPublish(received, {}).ok());
  SendGroup(pair.client(), sent, 0, 3, 10);
  pair.Run();
  ASSERT_TRUE(pair.client().EndTrack(sent, DoneCode::kTrackEnded, "").ok());
  pair.Run();
  const TakenTrack taken = TakeTrack(pair.server(), received);
  ASSERT_EQ(taken.ends.size(), 1u);
  EXPECT_TRUE(taken.ends[0].complete);
  EXPECT_FALSE(pair.server().deadline().has_value());
}

}  // namespace
}  // namespace kvcast::moqt
