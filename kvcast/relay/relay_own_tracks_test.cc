// A peer that follows what it publishes itself, through the relay.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

const TrackNamespace kOwnSpace = *TrackNamespace::Of({"live"});
const TrackName kOwn = *TrackName::Of(kOwnSpace, "t");

moqt::Parameters PatientFor(uint64_t ms) {
  moqt::Parameters parameters;
  parameters.rendezvous_timeout_ms = ms;
  return parameters;
}

struct OwnTracks {
  // The request by which the peer is asked for its own track, accepted.
  RequestId Answer() {
    const RequestId asked = peer.One<moqt::SubscribeReceived>().request;
    EXPECT_TRUE(peer->AcceptSubscribe(asked, {}, {}).ok());
    world.Run();
    EXPECT_EQ(peer.Take<moqt::RequestAccepted>().size(), 1u);
    return asked;
  }
  void Announce() {
    (void)*peer->PublishNamespace(kOwnSpace, {});
    world.Run();
    EXPECT_EQ(peer.Take<moqt::RequestAccepted>().size(), 1u);
  }

  RelayWorld world;
  Client& peer = world.Join();
};

TEST(RelayOwnTracks, AreAskedForLikeThoseOfOthers) {
  OwnTracks w;
  w.Announce();
  const RequestId followed = *w.peer->Subscribe(kOwn, {});
  w.world.Run();
  const RequestId asked = w.Answer();
  w.peer.SendGroup(asked, kOwn, 5, 3);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.peer.session(), followed);
  EXPECT_EQ(brought.objects.size(), 3u);
  // Its own wish is the last: without it, it is not asked any more.
  w.peer->Cancel(followed, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_EQ(w.peer.One<moqt::RequestCancelled>().request, asked);
}

TEST(RelayOwnTracks, MayBeWaitedForBeforeTheyAreAnnounced) {
  OwnTracks w;
  (void)*w.peer->Subscribe(kOwn, PatientFor(5000));
  w.world.Run();
  w.Announce();
  (void)w.Answer();
}

TEST(RelayOwnTracks, AreRefusedByWhoDoesNotHaveThem) {
  OwnTracks w;
  w.Announce();
  (void)*w.peer->Subscribe(kOwn, {});
  w.world.Run();
  const RequestId asked = w.peer.One<moqt::SubscribeReceived>().request;
  ASSERT_TRUE(
      w.peer->RefuseRequest(asked, Because(moqt::RequestCode::kDoesNotExist, "not here")).ok());
  w.world.Run();
  EXPECT_EQ(w.peer.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kDoesNotExist);
}

// Another relay, which asks us for what we then ask it for: neither has an answer before the other.
TEST(RelayOwnTracks, DoNotMakeTwoRelaysWaitForEachOtherForEver) {
  OwnTracks w;
  w.Announce();
  (void)*w.peer->Subscribe(kOwn, {});
  w.world.Run();
  EXPECT_EQ(w.peer.Take<moqt::SubscribeReceived>().size(), 1u);
  w.world.Wait(Limits().answer_patience);
  w.world.Run();
  EXPECT_EQ(w.peer.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kTimeout);
  EXPECT_EQ(w.peer.Take<moqt::SubscribeReceived>().size(), 0u);
  EXPECT_EQ(w.world.relay().deadline(), std::nullopt);
}

TEST(RelayOwnTracks, LeaveNothingBehindWithTheirPublisher) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    OwnTracks w;
    (void)*w.peer->PublishNamespace(kOwnSpace, {});
    (void)*w.peer->Subscribe(kOwn, PatientFor(seed % 2 == 0 ? 0 : 5000));
    for (uint64_t step = 0; step < seed && w.world.Step(); ++step) {
      for (const auto& asked : w.peer.Take<moqt::SubscribeReceived>()) {
        (void)w.peer->AcceptSubscribe(asked.request, {}, {}).ok();
      }
    }
    w.world.Leave(w.peer);
    w.world.Run();
    EXPECT_EQ(w.world.relay().deadline(), std::nullopt) << "seed " << seed;
  }
}

// A relay below us sends back what it has from us, and we send on only what is new: objects, and
// those that say where a group or the track ends.
TEST(RelayOwnTracks, GoNoFurtherWhenTheyComeBack) {
  OwnTracks w;
  Client& origin = w.world.Join();
  w.Announce();
  const RequestId published = *origin->Publish(kOwn, {}, {});
  const RequestId followed = *w.peer->Subscribe(kOwn, {});
  w.world.Run();
  const RequestId back = *w.peer->Publish(kOwn, {}, {});
  w.world.Run();
  std::vector<Object> sent = {ObjectAt(kOwn, {1, 0}), ObjectAt(kOwn, {2, 0}),
                              ObjectAt(kOwn, {3, 0})};
  sent[1].status = ObjectStatus::kEndOfGroup;
  sent[2].status = ObjectStatus::kEndOfTrack;
  for (size_t i = 1; i < sent.size(); ++i) {
    sent[i].payload = {};
    sent[i].properties = {};
  }
  const auto send = [&w](Client& by, RequestId request, const Object& object) {
    moqt::SubgroupHeader header;
    header.group = object.location.group;
    header.properties = true;
    const moqt::StreamId stream = *by->OpenSubgroup(request, header);
    ASSERT_TRUE(by->SendObject(request, stream, object).ok());
    ASSERT_TRUE(by->EndSubgroup(request, stream).ok());
    w.world.Run();
  };
  for (const Object& object : sent) {
    send(origin, published, object);
  }
  Brought brought;
  for (size_t round = 0; round < 3; ++round) {
    brought.TakeFrom(w.peer.session(), followed);
    ASSERT_EQ(brought.objects.size(), sent.size()) << "round " << round;
    for (const Object& object : sent) {
      send(w.peer, back, object);
    }
  }
  EXPECT_FALSE(w.peer.session().closed());
}

}  // namespace
}  // namespace kvcast::relay
