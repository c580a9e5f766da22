// The table of bad inputs, messages that are as they should be and stand where they may not: on the
// wrong stream, from the wrong side, too early, too late or twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kvcast/moqt/bad_input_parts_test.h"
#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/bad_input_table_test.h"

namespace kvcast::moqt {
namespace {

using draft::Framed;
using draft::kFine;
using draft::kViolation;
using draft::MessageShape;
using draft::Num;
using draft::Part;
using draft::Use;
using draft::Verdict;

// The plainest form of a message, as if it stood where it may.
std::string Plain(const MessageShape& shape, const Scene& scene) {
  Scene as = scene;
  as.use = shape.use;
  as.facts.announced = {{"s"}};
  as.facts.prefix = {"p"};
  std::string body;
  for (const Part part : shape.parts) {
    body += GoodWays(part, as)[0];
  }
  return Framed(shape.type, body);
}

// On a request's stream.
std::string PlainGoAway() { return Framed(0x10, Num(0) + Num(0)); }

// Which messages the draft lets come where `scene` expects one of them, by their types. Several
// scenes are the same place.
std::set<uint64_t> AllowedAt(const Scene& scene) {
  switch (scene.use) {
    case Use::kSetup:
      return {0x2f00};  // [3.3]
    case Use::kGoAwayControl:
      return {0x10};  // [10]
    case Use::kSubscribe:
    case Use::kPublish:
    case Use::kFetch:
    case Use::kTrackStatus:
    case Use::kPublishNamespace:
    case Use::kSubscribeNamespace:
    case Use::kSubscribeTracks:
      return {0x3, 0x1d, 0x16, 0xd, 0x6, 0x50, 0x51};  // [3.3]
    default:
      break;
  }
  static const std::map<std::string, std::set<uint64_t>> by_name = {
      {"after PUBLISH", {0x2, 0xb, 0x10}},    // [10.9, 10.11, 10.4]
      {"after SUBSCRIBE", {0x2, 0x10}},       //
      {"after FETCH", {0x2, 0x10}},           //
      {"after message 81", {0x2, 0x10}},      //
      {"after message 80", {0x2, 0x10}},      //
      {"after message 6", {0x2, 0x10}},       //
      {"to SUBSCRIBE", {0x4, 0x5, 0x10}},     // [5.1]
      {"to PUBLISH", {0x7, 0x5, 0x10, 0x2}},  // An update may overtake nothing, but may be early.
      {"to FETCH", {0x18, 0x5, 0x10}},        // [5.2]
      {"to TRACK_STATUS", {0x7, 0x5, 0x10}},  // [10.14]
      {"to SUBSCRIBE_TRACKS", {0x7, 0x5, 0x10}},
      {"to SUBSCRIBE_NAMESPACE", {0x7, 0x5, 0x10}},
      {"to PUBLISH_NAMESPACE", {0x7, 0x5, 0x10}},
      {"after SUBSCRIBE_OK", {0xb, 0x10}},
      {"after PUBLISH_OK", {0x2, 0x10}},
      {"to REQUEST_UPDATE", {0x7, 0x5, 0xb, 0x10}},  // [10.9]
      {"after SUBSCRIBE_TRACKS_OK", {0xf, 0x10}},
      {"after SUBSCRIBE_NAMESPACE_OK", {0x8, 0xe, 0x10}},
      {"after NAMESPACE", {0x8, 0xe, 0x10}},
  };
  return by_name.at(scene.name);
}

// The first number on a one-way stream is the stream's type, and some of those are messages
// elsewhere.
bool IsStreamType(const Scene& place, uint64_t type) {
  const bool subgroup = type < 0x80 && (type & 0x10) != 0 && (type & 0x06) != 0x06;
  return place.use == Use::kSetup && (subgroup || type == 0x05);
}

class StateTable {
 public:
  StateTable(const char* name, size_t at_least) : table_(name, at_least) {}

  void Expect(const Scene& scene, std::string_view why, std::string_view wire,
              const Verdict& verdict) {
    BytePeer peer(scene.facts.at_server);
    const StreamId stream = scene.prepare(peer);
    peer.Drain();
    peer.Send(stream, wire);
    const std::string kind = scene.name + " at a " + (scene.facts.at_server ? "server" : "client");
    table_.Check(kind, why, wire, false, peer.Outcome(stream), verdict);
  }

 private:
  BadInputTable table_;
};

// One of each place.
std::vector<Scene> Places() {
  std::vector<Scene> places;
  for (const bool at_server : {true, false}) {
    std::set<std::string> seen;
    for (Scene& scene : Scenes(at_server)) {
      if (seen.insert(scene.name).second) {
        places.push_back(std::move(scene));
      }
    }
  }
  return places;
}

TEST(BadStates, EveryMessageInEveryPlaceWhereItMayNotStand) {
  StateTable table("messages out of place", 500);
  for (const Scene& place : Places()) {
    const std::set<uint64_t> allowed = AllowedAt(place);
    for (const MessageShape& shape : draft::Shapes()) {
      if (!allowed.contains(shape.type) && !IsStreamType(place, shape.type)) {
        table.Expect(place, shape.name, Plain(shape, place), kViolation);
      }
    }
  }
}

// [10] Reserved ones, and those that nobody has heard of, whatever they carry.
TEST(BadStates, UnknownMessagesInEveryPlace) {
  StateTable table("unknown messages", 8000);
  std::set<uint64_t> known;
  for (const MessageShape& shape : draft::Shapes()) {
    known.insert(shape.type);
  }
  for (const Scene& place : Places()) {
    std::vector<uint64_t> types = {0x9d,        0x11c, 0x2eff, 0x2f01, 0x3fff, uint64_t{1} << 62,
                                   draft::kMost};
    for (uint64_t type = 0; type < 0x88; ++type) {
      types.push_back(type);
    }
    for (const uint64_t type : types) {
      if (!known.contains(type) && !IsStreamType(place, type)) {
        const std::string why = "message " + std::to_string(type);
        table.Expect(place, why, Framed(type, ""), kViolation);
        table.Expect(place, why, Framed(type, Num(place.next_id) + Num(0)), kViolation);
      }
    }
  }
}

// What may come once may not come twice.
TEST(BadStates, MessagesThatComeTwice) {
  StateTable table("messages twice", 20);
  for (const bool at_server : {true, false}) {
    for (const Scene& scene : Scenes(at_server)) {
      const std::string once = Plain(draft::ShapeOf(scene.use), scene);
      switch (scene.use) {
        case Use::kSetup:          // [3.3]
        case Use::kGoAwayControl:  // [10.4]
        case Use::kGoAwayRequest:  // [10.4]
        case Use::kSubscribeOk:    // [5.1]
        case Use::kPublishOk:      // [5.1]
        case Use::kFetchOk:        // [5.2]
        case Use::kNamespaceOk:    // [6.2]
        case Use::kRequestError:   // [5.1, 5.2]
        case Use::kTrackStatusOk:  // [10.14]
        case Use::kPublishDone:    // [5.1]
        case Use::kNamespaceDone:  // [10.18]
        case Use::kSubscribe:  // A request is the first message of its stream, and the only one.
        case Use::kPublish:
        case Use::kFetch:
        case Use::kTrackStatus:
        case Use::kPublishNamespace:
        case Use::kSubscribeNamespace:
        case Use::kSubscribeTracks:
          table.Expect(scene, draft::ShapeOf(scene.use).name, once + once, kViolation);
          break;
        case Use::kUpdateSubscription:
        case Use::kUpdateFetch:
        case Use::kUpdatePrefix:
        case Use::kUpdateAnnouncement:  // [10.1] The same id again.
          table.Expect(scene, draft::ShapeOf(scene.use).name, once + once,
                       draft::kInvalidRequestId);
          break;
        default:
          break;
      }
    }
  }
}

// [5.1, 5.2, 10] A refusal, the answer to TRACK_STATUS and PUBLISH_DONE are the last on their
// stream.
TEST(BadStates, AnyMessageAfterTheLast) {
  StateTable table("messages after the last", 500);
  for (const bool at_server : {true, false}) {
    for (const Scene& scene : Scenes(at_server)) {
      const bool answers = scene.name.starts_with("to ") && scene.name != "to REQUEST_UPDATE";
      if (!(scene.use == Use::kRequestError && answers) && scene.use != Use::kTrackStatusOk &&
          scene.use != Use::kPublishDone) {
        continue;
      }
      const std::string last = Plain(draft::ShapeOf(scene.use), scene);
      // [10.4] GOAWAY may be on any request stream, and does not change a subscription.
      const bool may_leave = scene.use == Use::kPublishDone;
      for (const MessageShape& shape : draft::Shapes()) {
        if (scene.name == "to REQUEST_UPDATE" && (shape.type == 0x5 || shape.type == 0x7)) {
          continue;  // [10.9] It is due.
        }
        table.Expect(scene, shape.name, last + Plain(shape, scene),
                     may_leave && shape.use == Use::kGoAwayRequest ? kFine : kViolation);
      }
      table.Expect(scene, "message 119", last + Framed(0x77, "zz"), kViolation);
      table.Expect(scene, "GOAWAY twice", last + PlainGoAway() + PlainGoAway(), kViolation);
    }
  }
}

// Where we have refused or ended a request, the peer may not know yet.
TEST(BadStates, MessagesAfterOurLast) {
  const RequestError refusal{RequestCode::kDoesNotExist, std::nullopt, "", std::nullopt};
  StateTable table("messages after our last", 300);
  for (const bool at_server : {true, false}) {
    for (Scene& scene : Scenes(at_server)) {
      if (scene.use != Use::kFetch && scene.use != Use::kSubscribe && scene.use != Use::kPublish &&
          scene.use != Use::kTrackStatus && scene.use != Use::kPublishNamespace &&
          scene.use != Use::kSubscribeNamespace && scene.use != Use::kSubscribeTracks) {
        continue;
      }
      const uint64_t request = scene.next_id;
      const std::string first = Plain(draft::ShapeOf(scene.use), scene);
      scene.next_id += 2;
      scene.prepare = [first, request, refusal, before = scene.prepare](BytePeer& peer) {
        const StreamId stream = before(peer);
        peer.Send(stream, first);
        KVCAST_CHECK(peer.session().RefuseRequest(request, refusal).ok());
        return stream;
      };
      std::set<uint64_t> allowed = {0x10};
      if (scene.use != Use::kTrackStatus) {
        allowed.insert(0x2);
      }
      if (scene.use == Use::kPublish) {
        allowed.insert(0xb);
      }
      for (const MessageShape& shape : draft::Shapes()) {
        if (shape.type != 0x10 || shape.use == Use::kGoAwayRequest) {
          table.Expect(scene, shape.name, Plain(shape, scene),
                       allowed.contains(shape.type) ? kFine : kViolation);
        }
      }
      table.Expect(scene, "message 119", Framed(0x77, "zz"), kViolation);
      table.Expect(scene, "GOAWAY twice", PlainGoAway() + PlainGoAway(), kViolation);
      table.Expect(scene, "GOAWAY to a place", Framed(0x10, draft::Sized("moqt://a") + Num(0)),
                   at_server ? kViolation : kFine);
      if (allowed.contains(0x2)) {  // [10.1] Its id counts all the same.
        const std::string update = Framed(0x2, Num(scene.next_id) + Num(0));
        table.Expect(scene, "an update twice", update + update, draft::kInvalidRequestId);
      }
      if (allowed.contains(0xb)) {
        const std::string done = Framed(0xb, Num(0) + Num(0) + Num(0));
        table.Expect(scene, "PUBLISH_DONE twice", done + done, kViolation);
      }
    }
  }
}

// What we have cancelled may still be answered, or not: nobody listens.
TEST(BadStates, MessagesToWhatWeHaveCancelled) {
  StateTable table("messages to what was cancelled", 40);
  for (const bool at_server : {true, false}) {
    for (Scene& scene : Scenes(at_server)) {
      if (!scene.name.starts_with("to ")) {
        continue;
      }
      scene.prepare = [before = scene.prepare](BytePeer& peer) {
        const StreamId stream = before(peer);
        peer.session().Cancel(peer.OurId(0), ResetCode::kCancelled);
        return stream;
      };
      table.Expect(scene, draft::ShapeOf(scene.use).name, Plain(draft::ShapeOf(scene.use), scene),
                   kFine);
    }
  }
}

// [11.4.4] A fetch's stream names a request of ours that is one.
TEST(BadStates, FetchStreamsOfWhatIsNoFetch) {
  const TrackName track = *TrackName::Of({}, "s");
  for (const bool at_server : {true, false}) {
    for (const int which : {0, 1, 2}) {
      BytePeer peer(at_server);
      peer.SetUp();
      ASSERT_TRUE((which == 0   ? peer.session().Subscribe(track, {})
                   : which == 1 ? peer.session().AskTrackStatus(track, {})
                                : peer.session().Fetch(track, {{0, 0}, {9, 0}}, {}))
                      .ok());
      peer.Drain();
      peer.Send(peer.PeersData(0), Num(5) + Num(peer.OurId(0)) + Num(0x1c));
      EXPECT_EQ(peer.Outcome(peer.PeersData(0)).ToString(),
                (which == 2 ? kFine : kViolation).ToString());
    }
  }
}

// [10.9] Of a subscription, too, which goes on until PUBLISH_DONE comes: every update is answered,
// if not by the same refusal, and what is answered may cross the end.
TEST(BadStates, AnswersToUpdatesOfASubscription) {
  const std::string refusal = Framed(0x5, Num(0) + Num(0) + Num(0));
  const std::string ok = Framed(0x7, Num(0));
  for (const bool at_server : {true, false}) {
    for (const uint64_t streams :
         {0u, 1u}) {  // With one to come, the subscription is not over yet.
      const std::string done = Framed(0xb, Num(8) + Num(streams) + Num(0));
      const struct {
        std::string wire;
        Verdict outcome;
      } cases[] = {
          {refusal + done, kFine},           {refusal + ok + done, kFine},
          {refusal + refusal + done, kFine}, {refusal + done + ok, kFine},
          {refusal + done + refusal, kFine}, {done + ok + refusal, kFine},
          {done + refusal + ok, kFine},      {ok + done + PlainGoAway() + ok, kFine},
          {refusal + ok + ok, kViolation},   {refusal + ok + done + ok, kViolation},
          {done + ok + ok + ok, kViolation}, {ok + done + ok + done, kViolation},
      };
      for (const auto& each : cases) {
        BytePeer peer(at_server);
        peer.SetUp();
        const RequestId id = *peer.session().Subscribe(*TrackName::Of({}, "s"), {});
        peer.Send(peer.OurRequest(0), Framed(0x4, Num(7) + Num(0)));
        ASSERT_TRUE(peer.session().Update(id, {}).ok());
        ASSERT_TRUE(peer.session().Update(id, {}).ok());
        peer.Drain();
        peer.Send(peer.OurRequest(0), each.wire);
        EXPECT_EQ(peer.Outcome(peer.OurRequest(0)).ToString(), each.outcome.ToString())
            << ToHex(AsBytes(each.wire));
      }
    }
  }
}

// [10.9] A refusal may stand for one update or for several, so the others may be answered or not.
TEST(BadStates, AnswersToUpdatesAfterARefusal) {
  for (const bool at_server : {true, false}) {
    for (const int answers : {0, 1, 2}) {
      BytePeer peer(at_server);
      peer.SetUp();
      const RequestId id = *peer.session().Publish(*TrackName::Of({}, "s"), {}, {});
      peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
      ASSERT_TRUE(peer.session().Update(id, {}).ok());
      ASSERT_TRUE(peer.session().Update(id, {}).ok());
      peer.Send(peer.OurRequest(0), Framed(0x5, Num(0) + Num(0) + Num(0)));
      peer.Drain();
      for (int i = 0; i < answers; ++i) {
        peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
      }
      EXPECT_EQ(peer.Outcome(peer.OurRequest(0)).ToString(),
                (answers < 2 ? kFine : kViolation).ToString());
    }
  }
}

// A track that we have ended before it was accepted is answered nevertheless, once.
TEST(BadStates, AnswersToAPublishThatHasEnded) {
  for (const bool at_server : {true, false}) {
    for (const int answers : {1, 2}) {
      BytePeer peer(at_server);
      peer.SetUp();
      const RequestId id = *peer.session().Publish(*TrackName::Of({}, "s"), {}, {});
      ASSERT_TRUE(peer.session().EndTrack(id, DoneCode::kTrackEnded, "").ok());
      peer.Drain();
      for (int i = 0; i < answers; ++i) {
        peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
      }
      EXPECT_EQ(peer.Outcome(peer.OurRequest(0)).ToString(),
                (answers == 1 ? kFine : kViolation).ToString());
    }
  }
}

// [10.1] On whatever streams, in whatever order.
TEST(BadStates, RequestIdsThatComeTwice) {
  BadInputTable table("request ids twice", 90);
  for (const bool at_server : {true, false}) {
    std::vector<Scene> requests;
    for (Scene& scene : Scenes(at_server)) {
      if (scene.name == "on a new stream") {
        requests.push_back(std::move(scene));
      }
    }
    for (const Scene& first : requests) {
      for (const Scene& second : requests) {
        BytePeer peer(at_server);
        peer.SetUp().Send(peer.PeersRequest(0), Plain(draft::ShapeOf(first.use), first));
        peer.Drain();
        const std::string wire = Plain(draft::ShapeOf(second.use), second);
        peer.Send(peer.PeersRequest(1), wire);
        table.Check(draft::ShapeOf(second.use).name, draft::ShapeOf(first.use).name, wire, false,
                    peer.Outcome(peer.PeersRequest(1)), draft::kInvalidRequestId);
      }
    }
  }
}

// [11.1] Of two tracks, one alias; and [5.1] of one track, two subscriptions.
TEST(BadStates, AliasesAndTracksThatComeTwice) {
  BadInputTable table("aliases and tracks twice", 8);
  const Verdict duplicate{Verdict::Kind::kRefused, 0x19};
  for (const bool at_server : {true, false}) {
    for (const bool same_track : {true, false}) {
      BytePeer peer(at_server);
      peer.SetUp().Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
      peer.Drain();
      const std::string wire =
          draft::PublishOf(peer.PeersId(1), same_track ? "b" : "c", same_track ? 8 : 7);
      peer.Send(peer.PeersRequest(1), wire);
      table.Check("PUBLISH", same_track ? "of a track that comes" : "with an alias in use", wire,
                  false, peer.Outcome(peer.PeersRequest(1)),
                  same_track ? duplicate : draft::kDuplicateAlias);
    }
    {
      BytePeer peer(at_server);
      peer.SetUp().Send(peer.PeersRequest(0), draft::SubscribeOf(peer.PeersId(0), "b"));
      peer.Drain();
      const std::string wire = draft::SubscribeOf(peer.PeersId(1), "b");
      peer.Send(peer.PeersRequest(1), wire);
      table.Check("SUBSCRIBE", "to a track that is sent", wire, false,
                  peer.Outcome(peer.PeersRequest(1)), duplicate);
    }
    BytePeer peer(at_server);
    peer.SetUp().Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
    KVCAST_CHECK(peer.session().Subscribe(*TrackName::Of({}, "s"), {}).ok());
    peer.Drain();
    const std::string wire = Framed(0x4, Num(7) + Num(0));
    peer.Send(peer.OurRequest(0), wire);
    table.Check("SUBSCRIBE_OK", "with an alias in use", wire, false,
                peer.Outcome(peer.OurRequest(0)), draft::kDuplicateAlias);
  }
}

// [11.1] The second track's PUBLISH may have other faults, and SUBSCRIBE_OK as well.
TEST(BadStates, AliasesThatComeTwiceWhateverElseIsWrong) {
  BadInputTable table("aliases twice, and more", 10);
  const std::string mandatory = Num(0x4000) + Num(1);
  const auto publish = [](uint64_t id, std::string_view space, const std::string& properties) {
    return Framed(0x1d, Num(id) + draft::Space({std::string(space)}) + draft::Sized("c") + Num(7) +
                            Num(0) + properties);
  };
  for (const bool at_server : {true, false}) {
    Limits few;
    few.requests_max = 1;
    const struct {
      const char* why;
      Limits limits;
      bool leaving;
      std::string_view space;
      std::string properties;
    } cases[] = {
        {"an extension", {}, false, "a", mandatory},
        {"malformed properties",
         {},
         false,
         "a",
         Num(0x0b) + draft::Sized(Num(0x0b) + draft::Sized(""))},
        {"after GOAWAY", {}, true, "a", ""},
        {"too many requests", few, false, "a", ""},
        {"a reserved namespace", {}, false, ".", ""},
    };
    for (const auto& each : cases) {
      BytePeer peer(at_server, each.limits);
      peer.SetUp().Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
      ASSERT_TRUE(peer.session().AcceptPublish(peer.PeersId(0), {}).ok());
      if (each.leaving) {
        ASSERT_TRUE(peer.session().SendGoAway("", 0).ok());
      }
      peer.Drain();
      const std::string wire = publish(peer.PeersId(1), each.space, each.properties);
      peer.Send(peer.PeersRequest(1), wire);
      table.Check("PUBLISH", each.why, wire, false, peer.Outcome(peer.PeersRequest(1)),
                  draft::kDuplicateAlias);
    }
    BytePeer peer(at_server);
    peer.SetUp().Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
    KVCAST_CHECK(peer.session().Subscribe(*TrackName::Of({}, "s"), {}).ok());
    peer.Drain();
    const std::string wire = Framed(0x4, Num(7) + Num(0) + mandatory);
    peer.Send(peer.OurRequest(0), wire);
    table.Check("SUBSCRIBE_OK", "an extension", wire, false, peer.Outcome(peer.OurRequest(0)),
                draft::kDuplicateAlias);
  }
}

// [10.18, 10.19] Prefixes of one kind may not overlap; of two kinds they may.
TEST(BadStates, PrefixesThatOverlap) {
  BadInputTable table("prefixes that overlap", 16);
  const Verdict overlap{Verdict::Kind::kRefused, 0x30};
  const std::vector<std::string> prefixes[] = {{}, {"a"}, {"a", "b"}};
  for (const bool at_server : {true, false}) {
    for (const uint64_t first : {0x50u, 0x51u}) {
      for (const uint64_t second : {0x50u, 0x51u}) {
        for (const auto& one : prefixes) {
          for (const auto& other : prefixes) {
            BytePeer peer(at_server);
            const auto request = [&](uint64_t type, uint64_t n, const auto& prefix) {
              return Framed(type, Num(peer.PeersId(n)) + draft::Space(prefix) + Num(0));
            };
            peer.SetUp().Send(peer.PeersRequest(0), request(first, 0, one));
            peer.Drain();
            const std::string wire = request(second, 1, other);
            peer.Send(peer.PeersRequest(1), wire);
            table.Check("a prefix", "beside another", wire, false,
                        peer.Outcome(peer.PeersRequest(1)), first == second ? overlap : kFine);
          }
        }
      }
    }
  }
}

// [3.3] Nothing ends a control stream.
TEST(BadStates, TheEndOfAControlStream) {
  for (const bool at_server : {true, false}) {
    for (const int how : {0, 1, 2}) {
      BytePeer peer(at_server);
      peer.SetUp().Drain();
      if (how == 0) {
        peer.Send(peer.PeersControl(), "", true);
      } else if (how == 1) {
        peer.session().OnStreamReset(peer.PeersControl(), 0);
      } else {
        peer.session().OnStopSending(at_server ? 3 : 2, 0);
      }
      EXPECT_EQ(peer.Outcome(peer.PeersControl()).ToString(), kViolation.ToString()) << how;
    }
  }
}

}  // namespace
}  // namespace kvcast::moqt
