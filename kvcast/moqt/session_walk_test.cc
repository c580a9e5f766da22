// Two sessions whose users ask, answer, send, change, take and cancel at random, in every shape.
// Nobody changes bytes, so no session ends; and when all is cancelled, nothing is held.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kvcast/base/random.h"
#include "kvcast/moqt/every_shape_test.h"

namespace kvcast::moqt {
namespace {

constexpr RequestId kWalkIdsMax = 1000;  // More than are used.

class SessionWalk {
 public:
  explicit SessionWalk(uint64_t seed) : pair_(OptionsOf(seed)), random_(seed) {}

  void Run() {
    for (int turn = 0; turn < 400; ++turn) {
      for (uint64_t steps = random_.Below(6); steps > 0 && pair_.Step(); --steps) {
      }
      Act(random_.Below(2) == 0 ? pair_.client() : pair_.server());
    }
    pair_.Run();
    for (RequestId id = 0; id < kWalkIdsMax; ++id) {
      pair_.client().Cancel(id, ResetCode::kCancelled);
      pair_.server().Cancel(id, ResetCode::kCancelled);
    }
    pair_.Run();
  }
  void ExpectNothingHeld() {
    for (Session* session : {&pair_.client(), &pair_.server()}) {
      for (const SessionClosed& closed : pair_.Take<SessionClosed>(*session)) {
        ADD_FAILURE() << closed.code << " " << closed.reason;
      }
      EXPECT_EQ(session->untaken_bytes(), 0u);
      EXPECT_EQ(session->kept_bytes(), 0u);
      EXPECT_EQ(session->queued_bytes(), 0u);
    }
  }

 private:
  static SessionPair::Options OptionsOf(uint64_t seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 1 + seed % 50;
    options.stream_window = 64 + seed % 200;
    options.connection_window = 1000 + seed % 5000;
    options.limits.stream_queue_bytes = 256;
    options.limits.session_queue_bytes = 1024;
    options.limits.requests_max = 12;
    options.limits.updates_max = 3;
    return options;
  }

  void Act(Session& session) {
    const uint64_t what = random_.Below(100);
    if (what < 20) {
      Ask(session);
    } else if (what < 50) {
      Answer(session);
    } else if (what < 65) {
      Send(session);
    } else if (what < 80) {
      Change(session);
    } else if (what < 92) {
      while (session.Take(AnyId())) {
      }
    } else {
      session.Cancel(AnyId(), ResetCode::kCancelled);
    }
  }

  void Ask(Session& session) {
    const TrackName track =
        *TrackName::Of({}, std::string(1, static_cast<char>('a' + random_.Below(6))));
    const TrackNamespace space =
        *TrackNamespace::Of({std::string(1, static_cast<char>('a' + random_.Below(3)))});
    switch (random_.Below(8)) {
      case 0:
        return Note(session.Publish(track, {}, {}));
      case 1:
        return Note(session.Subscribe(track, {}));
      case 2:
        return Note(session.Fetch(track, LocationRange::Groups(0, 9), {}));
      case 3:
        return Note(session.FetchJoining(AnyId(), Fetch::Type::kRelativeJoining, 1, {}));
      case 4:
        return Note(session.AskTrackStatus(track, {}));
      case 5:
        return Note(session.PublishNamespace(space, {}));
      case 6:
        return Note(session.SubscribeNamespace(space, {}));
      default:
        return Note(session.SubscribeTracks(space, {}));
    }
  }

  // Most of these are for a request of another kind, and do nothing.
  void Answer(Session& session) {
    const RequestId id = AnyId();
    if (random_.Below(6) == 0) {
      (void)session.RefuseRequest(id, {}).ok();
      return;
    }
    Parameters largest;
    largest.largest_object = Location{0, 0};
    (void)session.AcceptPublish(id, {}).ok();
    (void)session.AcceptSubscribe(id, largest, {}).ok();
    (void)session.AcceptFetch(id, FetchOk{false, {9, 9}, {}, {}}).ok();
    (void)session.AnswerTrackStatus(id, {}, {}).ok();
    (void)session.AcceptPublishNamespace(id, {}).ok();
    (void)session.AcceptSubscribeNamespace(id, {}).ok();
    (void)session.AcceptSubscribeTracks(id, {}).ok();
  }

  void Send(Session& session) {
    const RequestId id = AnyId();
    Object object;
    object.location = {random_.Below(9), random_.Below(8)};
    object.payload = Bytes::Of(std::string(random_.Below(200), 'p'));
    switch (random_.Below(6)) {
      case 0:
        return (void)session.EndTrack(id, DoneCode::kTrackEnded, "").ok();
      case 1:
        return (void)session.EndFetch(id).ok();
      case 2:
        return (void)session.SendFetched(id, object).ok();
      case 3:
        return (void)session.AnnounceNamespace(id, *TrackNamespace::Of({"a", "n"})).ok();
      case 4:
        return (void)session.WithdrawNamespace(id, *TrackNamespace::Of({"a", "n"})).ok();
      default:
        break;
    }
    SubgroupHeader header;
    header.group = next_group_++;  // A group of its own, so that no track contradicts itself.
    object.location.group = header.group;
    if (const Result<StreamId> stream = session.OpenSubgroup(id, header); stream.ok()) {
      (void)session.SendObject(id, *stream, object).ok();
      (void)session.EndSubgroup(id, *stream).ok();
    }
  }

  void Change(Session& session) {
    const RequestId id = AnyId();
    Parameters change;
    change.subscriber_priority = 9;
    switch (random_.Below(5)) {
      case 0:
        return Note(session.Update(id, change));
      case 1:
        return Note(session.Update(id, {}));
      case 2:
        return (void)session.RefuseUpdate(id, {}).ok();
      default:
        return (void)session.AcceptUpdate(id, {}).ok();
    }
  }

  // Mostly one of the last that were asked for, by either side.
  RequestId AnyId() { return last_id_ - std::min(last_id_, random_.Below(16)); }
  void Note(const Result<RequestId>& request) {
    last_id_ = request.ok() ? std::max(last_id_, *request) : last_id_;
  }

  SessionPair pair_;
  Random random_;
  RequestId last_id_ = 0;
  uint64_t next_group_ = 0;
};

class SessionWalkInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, SessionWalkInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(SessionWalkInEveryShape, EndsNoSessionAndLeavesNothing) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SessionWalk walk(seed);
    walk.Run();
    walk.ExpectNothingHeld();
  }
}

}  // namespace
}  // namespace kvcast::moqt
