// A PUBLISH that crosses a SUBSCRIBE for the same track: of the two, one is established.
#include <gtest/gtest.h>

#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/byte_peer_test.h"
#include "kvcast/moqt/every_shape_test.h"

namespace kvcast::moqt {
namespace {

using draft::Framed;
using draft::Num;
using draft::Verdict;

constexpr Verdict kDuplicate{Verdict::Kind::kRefused, 0x19};

TrackName CrossingTrack() { return *TrackName::Of(*TrackNamespace::Of({"a"}), "b"); }

// We have asked the peer for a track, and it publishes the same one before it answers.
struct Crossing {
  explicit Crossing(bool at_server) : peer(at_server) {
    peer.SetUp();
    KVCAST_CHECK(*peer.session().Subscribe(CrossingTrack(), {}) == peer.OurId(0));
    peer.Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
  }
  template <typename T>
  std::vector<T> Events() {
    std::vector<T> found;
    while (std::optional<Event> event = peer.session().NextEvent()) {
      if (T* one = std::get_if<T>(&*event)) {
        found.push_back(std::move(*one));
      }
    }
    return found;
  }
  std::vector<TransportAction> Actions() {
    std::vector<TransportAction> actions;
    while (auto action = peer.session().NextAction()) {
      actions.push_back(*std::move(action));
    }
    return actions;
  }
  void AnswerOurs(uint64_t alias) {
    peer.Send(peer.OurRequest(0), Framed(0x4, Num(alias) + Num(0)));
  }

  BytePeer peer;
};

TEST(PublishThatCrossesASubscribe, IsAcceptedOnceOursHasEnded) {
  for (const bool at_server : {true, false}) {
    Crossing world(at_server);
    const auto published = world.Events<PublishReceived>();
    ASSERT_EQ(published.size(), 1u);
    (void)world.Actions();
    ASSERT_TRUE(world.peer.session().AcceptPublish(published[0].request, {}).ok());
    const auto cancelled = world.Events<RequestCancelled>();
    ASSERT_EQ(cancelled.size(), 1u);
    EXPECT_EQ(cancelled[0].request, world.peer.OurId(0));
    bool ended = false;
    bool accepted = false;
    for (const TransportAction& action : world.Actions()) {
      const auto* stop = std::get_if<StopSending>(&action);
      const auto* send = std::get_if<SendBytes>(&action);
      ended = ended || (stop != nullptr && stop->stream == world.peer.OurRequest(0));
      if (send != nullptr && send->stream == world.peer.PeersRequest(0)) {
        EXPECT_TRUE(ended);  // PUBLISH_OK comes after.
        accepted = true;
      }
    }
    EXPECT_TRUE(accepted);
    EXPECT_FALSE(world.peer.session().Subscribe(CrossingTrack(), {}).ok());
    // What the peer had said of ours meanwhile does not matter any more.
    world.AnswerOurs(8);
    EXPECT_FALSE(world.peer.session().closed());
  }
}

TEST(PublishThatCrossesASubscribe, IsRefusedIfOursIsAcceptedFirst) {
  for (const bool at_server : {true, false}) {
    for (const uint64_t alias : {7u, 8u}) {  // The track's alias may well be the same.
      Crossing world(at_server);
      ASSERT_EQ(world.Events<PublishReceived>().size(), 1u);
      world.peer.Drain();
      world.AnswerOurs(alias);
      const RequestId theirs = world.peer.PeersId(0);
      EXPECT_FALSE(world.peer.session().AcceptPublish(theirs, {}).ok());
      EXPECT_EQ(world.peer.Outcome(world.peer.PeersRequest(0)).ToString(), kDuplicate.ToString());
      EXPECT_FALSE(world.peer.session().closed());
      bool told = false;
      bool established = false;
      while (const std::optional<Event> event = world.peer.session().NextEvent()) {
        const auto* cancelled = std::get_if<RequestCancelled>(&*event);
        told = told || (cancelled != nullptr && cancelled->request == theirs);
        established = established || std::holds_alternative<RequestAccepted>(*event);
      }
      EXPECT_TRUE(told);
      EXPECT_TRUE(established);
    }
  }
}

TEST(PublishThatCrossesASubscribe, LeavesItAloneWhenRefused) {
  for (const bool at_server : {true, false}) {
    Crossing world(at_server);
    const RequestError no{RequestCode::kUninterested, std::nullopt, "", std::nullopt};
    ASSERT_TRUE(world.peer.session().RefuseRequest(world.peer.PeersId(0), no).ok());
    world.peer.Drain();
    EXPECT_FALSE(world.peer.session().Subscribe(CrossingTrack(), {}).ok());  // It still waits.
    world.AnswerOurs(8);
    EXPECT_EQ(world.Events<RequestAccepted>().size(), 1u);
    world.peer.Send(world.peer.PeersRequest(1), draft::PublishOf(world.peer.PeersId(1), "b", 9));
    EXPECT_EQ(world.peer.Outcome(world.peer.PeersRequest(1)).ToString(), kDuplicate.ToString());
  }
}

TEST(PublishThatCrossesASubscribe, IsOnlyOne) {
  for (const bool at_server : {true, false}) {
    Crossing world(at_server);
    world.peer.Drain();
    world.peer.Send(world.peer.PeersRequest(1), draft::PublishOf(world.peer.PeersId(1), "b", 9));
    EXPECT_EQ(world.peer.Outcome(world.peer.PeersRequest(1)).ToString(), kDuplicate.ToString());
  }
}

class PublishThatCrossesInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, PublishThatCrossesInEveryShape, EveryShape::Drafts(),
                         EveryShape::Name);

// Both ends are ours: whatever overtakes what, the publisher refuses the SUBSCRIBE, and objects
// come by the PUBLISH.
TEST_P(PublishThatCrossesInEveryShape, BringsItsObjectsInAnyOrderOfEvents) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 4;
    SessionPair pair(options);
    while (pair.Step()) {
    }
    ASSERT_TRUE(pair.client().Subscribe(CrossingTrack(), {}).ok());
    const RequestId request = *pair.server().Publish(CrossingTrack(), {}, {});
    const StreamId subgroup = *pair.server().OpenSubgroup(request, {});
    Object object;
    object.payload = Bytes::Of("kv");
    ASSERT_TRUE(pair.server().SendObject(request, subgroup, object).ok());
    ASSERT_TRUE(pair.server().EndSubgroup(request, subgroup).ok());
    size_t ours_over = 0;
    bool accepted = false;
    while (pair.Step()) {
      for (const auto& received : pair.Take<PublishReceived>(pair.client())) {
        EXPECT_TRUE(pair.client().AcceptPublish(received.request, {}).ok());
      }
      ours_over += pair.Take<RequestCancelled>(pair.client()).size();
      for (const auto& refused : pair.Take<RequestRefused>(pair.client())) {
        EXPECT_EQ(refused.error.code, RequestCode::kDuplicateSubscription);
        ++ours_over;
      }
      accepted = accepted || !pair.Take<RequestAccepted>(pair.server()).empty();
    }
    EXPECT_EQ(ours_over, 1u) << seed;
    EXPECT_TRUE(accepted) << seed;
    const auto item = pair.client().Take(request);
    ASSERT_TRUE(item.has_value()) << seed;
    EXPECT_EQ(std::get<ReceivedObject>(*item).object.payload, Bytes::Of("kv"));
  }
}

}  // namespace
}  // namespace kvcast::moqt
