// PUBLISH_DONE and the streams it counts: which comes first, and what either side does about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/moqt/sent_group_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

using namespace std::chrono_literals;

std::string Written(const Message& message) {
  return DefaultCodec().Encode(message).value().ToString();
}

// A server whose connection sends only what it is told to, and a client made of messages.
class SlowConnection {
 public:
  explicit SlowConnection(const Limits& limits = {})
      : session_(Role::kServer, {}, limits, Instant()) {
    Setup setup;
    setup.path = "/";
    setup.authority = "node.example";
    Receive(2, setup);
    Look();
  }
  Session& session() { return session_; }

  void Receive(StreamId stream, const Message& message, bool fin = false) {
    const std::string bytes = Written(message);
    session_.OnStreamData(stream, AsBytes(bytes), fin);
    Look();
  }
  void ReceiveData(StreamId stream, std::string_view bytes, bool fin) {
    session_.OnStreamData(stream, AsBytes(bytes), fin);
    Look();
  }
  // One object on one stream.
  void ReceiveGroup(StreamId stream, uint64_t alias, uint64_t group) {
    SubgroupHeader header;
    header.alias = alias;
    header.group = group;
    const auto writer = DefaultCodec().WriteSubgroup(header);
    Object object;
    object.location = {group, 0};
    object.payload = Bytes::Of("kv");
    const std::string head = writer->Header().ToString();
    ReceiveData(stream, head + writer->Write(object).ToString(), true);
  }

  // What the session wants the connection to do, noted.
  void Look() {
    while (std::optional<TransportAction> action = session_.NextAction()) {
      if (const auto* send = std::get_if<SendBytes>(&*action)) {
        written[send->stream] += send->bytes.ToString();
        if (send->fin) {
          ended.insert(send->stream);
        }
      } else if (const auto* reset = std::get_if<ResetStream>(&*action)) {
        EXPECT_TRUE(resets.emplace(reset->stream, reset->code).second) << reset->stream;
      } else if (const auto* reorder = std::get_if<ReorderStream>(&*action)) {
        reordered.insert(reorder->stream);
      } else if (const auto* close = std::get_if<CloseConnection>(&*action)) {
        ADD_FAILURE() << close->reason;
      }
    }
    while (std::optional<Event> event = session_.NextEvent()) {
      events.push_back(*std::move(event));
    }
  }
  // All that waits on the stream, or so many bytes of it.
  void Send(StreamId stream, size_t bytes = ~size_t{0}) {
    Look();
    session_.OnBytesSent(stream, std::min(bytes, written[stream].size()));
    Look();
  }
  // The last message of the stream, if that is PUBLISH_DONE.
  bool said(StreamId stream, const PublishDone& done) {
    Look();
    return written[stream].ends_with(Written(done)) && ended.contains(stream);
  }
  template <typename T>
  size_t Count() {
    Look();
    return static_cast<size_t>(std::ranges::count_if(
        events, [](const Event& event) { return std::holds_alternative<T>(event); }));
  }

  std::map<StreamId, std::string> written;
  std::set<StreamId> ended;
  std::map<StreamId, uint64_t> resets;
  std::set<StreamId> reordered;
  std::vector<Event> events;

 private:
  Session session_;
};

// The client has subscribed; of what it is to get, nothing has been sent.
class SlowSubscription : public SlowConnection {
 public:
  explicit SlowSubscription(const Parameters& wanted = {}) {
    Receive(kRequest, Subscribe{0, Track("t"), wanted});
    Parameters answer;
    answer.largest_object = Location{0, 0};
    EXPECT_TRUE(session().AcceptSubscribe(0, answer, {}).ok());
    Look();
  }
  // A group that was ended, and its stream.
  StreamId Group(uint64_t group) {
    SendGroup(session(), 0, group, 1, 100);
    Look();
    return written.rbegin()->first;
  }

  static constexpr StreamId kRequest = 0;
};

TEST(PublishDone, IsSaidOnceAllStreamsHaveBeenSent) {
  SlowSubscription world;
  const StreamId first = world.Group(0);
  const StreamId second = world.Group(1);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "over").ok());
  const PublishDone done{DoneCode::kTrackEnded, 2, "over"};
  EXPECT_FALSE(world.said(SlowSubscription::kRequest, done));
  world.Send(second);
  world.Send(first, 50);
  EXPECT_FALSE(world.said(SlowSubscription::kRequest, done));
  EXPECT_FALSE(world.session().EndTrack(0, DoneCode::kTrackEnded, "over").ok());
  EXPECT_FALSE(world.session().OpenSubgroup(0, {}).ok());
  world.Send(first, world.written[first].size() - 50);
  EXPECT_TRUE(world.said(SlowSubscription::kRequest, done));
  EXPECT_TRUE(world.resets.empty());
}

// Also where streams are not waited for: a datagram needs no credit to leave.
TEST(PublishDone, IsSaidOnceNoDatagramWaits) {
  for (const DoneCode code : {DoneCode::kTrackEnded, DoneCode::kTooFarBehind}) {
    SlowSubscription world;
    for (uint64_t i = 0; i < 3; ++i) {
      Object object;
      object.location = {0, i};
      object.forwarding = Forwarding::kDatagram;
      ASSERT_TRUE(world.session().SendDatagramObject(0, object, false).ok());
    }
    world.session().OnDatagramsGone(0, 1);
    ASSERT_TRUE(world.session().EndTrack(0, code, "over").ok());
    EXPECT_FALSE(world.said(SlowSubscription::kRequest, {code, 0, "over"}));
    world.session().OnDatagramsGone(0, 2);
    EXPECT_TRUE(world.said(SlowSubscription::kRequest, {code, 0, "over"}));
  }
}

TEST(PublishDone, IsNotHeldByStreamsThatWereReset) {
  SlowSubscription world;
  const StreamId open = *world.session().OpenSubgroup(0, {});
  world.Send(open);
  const StreamId stopped = world.Group(1);
  world.Send(stopped, 50);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kInternalError, "").ok());
  const PublishDone done{DoneCode::kInternalError, 2, ""};
  EXPECT_FALSE(world.said(SlowSubscription::kRequest, done));
  EXPECT_TRUE(world.resets.contains(open));
  world.session().OnStopSending(stopped, 1);
  EXPECT_TRUE(world.said(SlowSubscription::kRequest, done));
  EXPECT_TRUE(world.resets.contains(stopped));
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

// One stream is sent whole, one is reset later; two are reset before anything of them is sent, the
// last one by the end.
void SendSomeAndEnd(SlowSubscription& world, DoneCode code) {
  const StreamId whole = world.Group(0);
  const StreamId reset_later = *world.session().OpenSubgroup(0, {});
  const StreamId reset_before = *world.session().OpenSubgroup(0, {});
  const StreamId open = *world.session().OpenSubgroup(0, {});
  world.Send(reset_later, 1);
  ASSERT_TRUE(world.session().ResetSubgroup(0, reset_later, ResetCode::kCancelled).ok());
  ASSERT_TRUE(world.session().ResetSubgroup(0, reset_before, ResetCode::kCancelled).ok());
  ASSERT_TRUE(world.session().EndTrack(0, code, "").ok());
  world.Send(whole, 50);
  world.Send(whole, world.written[whole].size() - 50);
  EXPECT_TRUE(world.resets.contains(open));
}

// A connection opens a stream when it has its turn: one that is reset before that never comes, and
// whoever counts on it would wait in vain.
TEST(PublishDone, CountsStreamsOfWhichSomethingWasSent) {
  for (const DoneCode code :
       {DoneCode::kInternalError, DoneCode::kGoingAway, DoneCode::kTooFarBehind}) {
    SlowSubscription world;
    SendSomeAndEnd(world, code);
    const uint64_t streams = code == DoneCode::kTooFarBehind ? 1 : 2;
    EXPECT_TRUE(world.said(SlowSubscription::kRequest, {code, streams, ""}));
  }
}

// To count only what came would say that this was all there is.
TEST(PublishDone, DoesNotKnowTheCountOfAnEndThatLacksStreams) {
  for (const DoneCode code : {DoneCode::kTrackEnded, DoneCode::kSubscriptionEnded}) {
    SlowSubscription world;
    SendSomeAndEnd(world, code);
    EXPECT_TRUE(world.said(SlowSubscription::kRequest, {code, PublishDone::kStreamsUnknown, ""}));
  }
}

// Nor if the streams that are lacking never came to who sends on what it got.
TEST(PublishDone, DoesNotKnowTheCountIfItIsToldSo) {
  SlowSubscription world;
  world.Send(world.Group(0));
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "", true).ok());
  EXPECT_TRUE(world.said(SlowSubscription::kRequest,
                         {DoneCode::kTrackEnded, PublishDone::kStreamsUnknown, ""}));
}

TEST(PublishDone, FollowsWhatIsLateAndSoIsNotSent) {
  Parameters wanted;
  wanted.subgroup_delivery_timeout_ms = 100;
  SlowSubscription world(wanted);
  const StreamId late = world.Group(0);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "").ok());
  ASSERT_EQ(world.session().deadline(), Instant() + 100ms);
  world.session().OnTimeout(Instant() + 100ms);
  EXPECT_TRUE(world.said(SlowSubscription::kRequest,
                         {DoneCode::kTrackEnded, PublishDone::kStreamsUnknown, ""}));
  EXPECT_EQ(world.resets.at(late), static_cast<uint64_t>(ResetCode::kDeliveryTimeout));
}

// Who does not read would never hear of it.
TEST(PublishDone, IsSaidAtOnceToOneThatIsTooFarBehind) {
  SlowSubscription world;
  const StreamId waiting = world.Group(0);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTooFarBehind, "").ok());
  EXPECT_TRUE(world.said(SlowSubscription::kRequest, {DoneCode::kTooFarBehind, 0, ""}));
  EXPECT_EQ(world.resets.at(waiting), static_cast<uint64_t>(ResetCode::kTooFarBehind));
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

// Until the subscriber hears of the end, the subscription is what it was.
TEST(PublishDone, LeavesRoomForUpdatesAndJoinsUntilItIsSaid) {
  SlowSubscription world;
  const StreamId waiting = world.Group(0);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "").ok());
  Parameters change;
  change.subscriber_priority = 3;
  world.Receive(SlowSubscription::kRequest, RequestUpdate{2, change});
  ASSERT_EQ(world.Count<UpdateReceived>(), 1u);
  ASSERT_TRUE(world.session().AcceptUpdate(0, {}).ok());
  world.Look();
  EXPECT_TRUE(world.reordered.contains(waiting));
  Fetch join;
  join.request_id = 4;
  join.type = Fetch::Type::kRelativeJoining;
  world.Receive(4, join);
  EXPECT_EQ(world.Count<FetchReceived>(), 1u);
  world.Send(waiting);
  EXPECT_TRUE(world.said(SlowSubscription::kRequest, {DoneCode::kTrackEnded, 1, ""}));
}

TEST(PublishDone, IsThatOfAnUpdateThatIsRefusedMeanwhile) {
  SlowSubscription world;
  const StreamId waiting = world.Group(0);
  ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "").ok());
  world.Receive(SlowSubscription::kRequest, RequestUpdate{2, {}});
  ASSERT_TRUE(world.session().RefuseUpdate(0, {RequestCode::kInternalError, {}, "", {}}).ok());
  world.Send(waiting);
  EXPECT_TRUE(world.said(SlowSubscription::kRequest, {DoneCode::kUpdateFailed, 1, ""}));
}

TEST(Cancellation, StopsSubgroupsThatHadEnded) {
  for (const bool track_ended : {false, true}) {
    SlowSubscription world;
    const StreamId first = world.Group(0);
    const StreamId second = world.Group(1);
    if (track_ended) {
      ASSERT_TRUE(world.session().EndTrack(0, DoneCode::kTrackEnded, "").ok());
    }
    world.Send(first);
    world.session().OnStopSending(SlowSubscription::kRequest, 1);
    world.Look();
    EXPECT_FALSE(world.resets.contains(first));  // It is on its way.
    EXPECT_TRUE(world.resets.contains(second));
    EXPECT_TRUE(world.resets.contains(SlowSubscription::kRequest));
    EXPECT_EQ(world.session().queued_bytes(), 0u);
    EXPECT_EQ(world.Count<RequestCancelled>(), 1u);
  }
}

TEST(Cancellation, OfAFetchStopsWhatHadEnded) {
  SlowConnection world;
  world.Receive(
      0, Fetch{0, Fetch::Type::kStandalone, Track("t"), LocationRange::Groups(0, 9), {}, {}, {}});
  ASSERT_TRUE(world.session().AcceptFetch(0, FetchOk{false, {9, 9}, {}, {}}).ok());
  Object object;
  object.payload = Bytes::Of(std::string(100, 'k'));
  ASSERT_TRUE(world.session().SendFetched(0, object).ok());
  ASSERT_TRUE(world.session().EndFetch(0).ok());
  world.Look();
  const StreamId data = world.written.rbegin()->first;
  world.Send(data, 50);
  EXPECT_FALSE(world.ended.contains(0));
  world.session().OnStopSending(0, 1);
  world.Look();
  EXPECT_TRUE(world.resets.contains(data));
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

TEST(Refusal, OfAPublicationStopsSubgroupsThatHadEnded) {
  SlowConnection world;
  const RequestId request = *world.session().Publish(Track("t"), {}, {});
  SendGroup(world.session(), request, 0, 1, 100);
  world.Look();
  const StreamId data = world.written.rbegin()->first;
  world.Receive(1, RequestError{RequestCode::kUninterested, {}, "", {}}, true);
  EXPECT_EQ(world.Count<RequestRefused>(), 1u);
  EXPECT_TRUE(world.resets.contains(data));
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

// The client has published a track under alias 7, and said that it is done after so many streams.
class DoneTrack : public SlowConnection {
 public:
  explicit DoneTrack(uint64_t streams, const Limits& limits = {}) : SlowConnection(limits) {
    Receive(0, Publish{0, Track("t"), 7, {}, {}});
    EXPECT_TRUE(session().AcceptPublish(0, {}).ok());
    Receive(0, PublishDone{DoneCode::kTrackEnded, streams, ""}, true);
  }
  void Wait(Duration time) {
    now_ += time;
    session().OnTimeout(now_);
    Look();
  }
  // Takes what has come.
  void Take() {
    while (const std::optional<Received> item = session().Take(0)) {
      objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
      if (const auto* end = std::get_if<TrackEnd>(&*item)) {
        complete = end->complete;
      }
    }
    Look();
  }

  size_t objects = 0;
  std::optional<bool> complete;

 private:
  Instant now_;
};

constexpr Duration kMoment = std::chrono::seconds(1);

TEST(TrackEnd, IsWaitedForAnewWithEveryStreamThatComes) {
  DoneTrack world(4);
  for (uint64_t group = 0; group < 4; ++group) {
    world.Wait(Limits().end_patience - kMoment);
    world.ReceiveGroup(6 + 4 * group, 7, group);
    world.Take();
  }
  EXPECT_EQ(world.objects, 4u);
  EXPECT_EQ(world.complete, true);
}

TEST(TrackEnd, ComesAfterAsMuchSilence) {
  DoneTrack world(2);
  world.Wait(kMoment);
  world.ReceiveGroup(6, 7, 0);
  world.Take();
  world.Wait(Limits().end_patience - kMoment);
  world.Take();
  EXPECT_EQ(world.complete, std::nullopt);
  world.Wait(kMoment);
  world.Take();
  EXPECT_EQ(world.complete, false);
}

// The publisher may be at the limit of streams because of what nobody has taken.
TEST(TrackEnd, IsWaitedForWhileNobodyTakesWhatHasCome) {
  DoneTrack world(2);
  world.ReceiveGroup(6, 7, 0);
  for (int i = 0; i < 5; ++i) {
    world.Wait(Limits().end_patience);
  }
  world.Take();
  world.Wait(Limits().end_patience - kMoment);
  world.ReceiveGroup(10, 7, 1);
  world.Take();
  EXPECT_EQ(world.objects, 2u);
  EXPECT_EQ(world.complete, true);
}

// While what other tracks brought keeps the peer from beginning streams, their absence says
// nothing.
TEST(TrackEnd, IsWaitedForWhileTheSessionIsCrowded) {
  Limits limits;
  limits.session_queue_bytes = 1;
  DoneTrack world(1, limits);
  world.Receive(4, Publish{2, Track("other"), 8, {}, {}});
  ASSERT_TRUE(world.session().AcceptPublish(2, {}).ok());
  world.ReceiveGroup(6, 8, 0);
  EXPECT_FALSE(world.session().MayOpenMore());
  for (int i = 0; i < 5; ++i) {
    world.Wait(limits.end_patience);
  }
  world.Wait(limits.end_patience - kMoment);
  while (world.session().Take(2)) {
  }
  EXPECT_TRUE(world.session().MayOpenMore());
  world.Wait(kMoment);  // It was relieved just now.
  world.ReceiveGroup(10, 7, 0);
  world.Take();
  EXPECT_EQ(world.objects, 1u);
  EXPECT_EQ(world.complete, true);
}

TEST(TrackAlias, IsFreeAgainOnceItsTrackIsDone) {
  DoneTrack world(2);
  world.ReceiveData(6, std::string("\x10\x07\x00\x00", 4), false);  // It goes on.
  world.Receive(4, Publish{2, Track("u"), 7, {}, {}});
  EXPECT_EQ(world.Count<PublishReceived>(), 2u);
  ASSERT_TRUE(world.session().AcceptPublish(2, {}).ok());
  world.ReceiveGroup(10, 7, 5);
  const std::optional<Received> of_new = world.session().Take(2);
  ASSERT_TRUE(of_new && std::holds_alternative<ReceivedObject>(*of_new));
  world.ReceiveData(6, std::string("\x00\x02kv", 4), true);  // An object, and the end.
  world.Take();
  EXPECT_EQ(world.objects, 1u);
}

TEST(Track, MayComeAgainOnceItIsDoneThoughStreamsAreUnderWay) {
  DoneTrack world(1);
  world.Receive(4, Publish{2, Track("t"), 8, {}, {}});
  ASSERT_EQ(world.Count<PublishReceived>(), 2u);
  ASSERT_TRUE(world.session().AcceptPublish(2, {}).ok());
  world.Receive(4, PublishDone{DoneCode::kTrackEnded, 1, ""}, true);
  EXPECT_TRUE(world.session().Subscribe(Track("t"), {}).ok());
  EXPECT_FALSE(world.session().Subscribe(Track("t"), {}).ok());
  world.ReceiveGroup(6, 7, 0);
  world.Take();
  EXPECT_EQ(world.complete, true);
}

}  // namespace
}  // namespace kvcast::moqt
