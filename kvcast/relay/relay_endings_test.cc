// What those who follow a track hear when its publisher goes wrong, or goes away.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::DoneCode;

// A publisher, and one who follows its track.
struct Followed {
  Followed() : Followed(RelayWorld::Options()) {}
  explicit Followed(const RelayWorld::Options& options) : world(options) {
    published = *publisher->Publish(track, {}, {});
    world.Run();
    subscribed = *subscriber->Subscribe(track, {});
    world.Run();
  }
  DoneCode Done() { return subscriber.One<moqt::PublishDoneReceived>().done.code; }

  RelayWorld world;
  TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  RequestId published = 0;
  RequestId subscribed = 0;
};

// Object 5 says that the five before it do not exist, and then one of them comes.
void Contradict(Client& publisher, RequestId published, uint64_t group) {
  moqt::SubgroupHeader header;
  header.group = group;
  header.properties = true;
  const moqt::StreamId first = *publisher->OpenSubgroup(published, header);
  Object after_gap;
  after_gap.location = {group, 5};
  after_gap.payload = Bytes::Of("x");
  after_gap.properties = PropertiesBuilder().Number(0x3e, 5).Build();
  ASSERT_TRUE(publisher->SendObject(published, first, after_gap).ok());
  header.mode = moqt::SubgroupHeader::Mode::kExplicit;
  header.subgroup = 1;
  const moqt::StreamId second = *publisher->OpenSubgroup(published, header);
  Object in_gap;
  in_gap.location = {group, 4};
  in_gap.subgroup = 1;
  in_gap.payload = Bytes::Of("x");
  ASSERT_TRUE(publisher->SendObject(published, second, in_gap).ok());
}

TEST(RelayEndings, AMalformedTrackEndsForThoseWhoFollowIt) {
  Followed w;
  Contradict(w.publisher, w.published, 0);
  w.world.Run();
  EXPECT_EQ(w.publisher.One<moqt::RequestCancelled>().code,
            static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
  EXPECT_EQ(w.Done(), DoneCode::kMalformedTrack);
  EXPECT_EQ(w.world.metrics().Value("kvcast_relay_malformed_tracks_total"), 1);
}

TEST(RelayEndings, AMalformedTrackEndsForThoseWhoFetchIt) {
  Followed w(LittleRoom());
  const TrackName other = BlockTrack("other");
  w.publisher.SendGroup(w.published, w.track, 0, 100, 1000);
  w.publisher.PublishAll(other, 1, 100, 1000);
  w.world.Run();
  Client& reader = w.world.Join();
  const RequestId fetch = *reader->Fetch(w.track, LocationRange::Groups(0, 0), {});
  const RequestId of_other = *reader->Fetch(other, LocationRange::Groups(0, 0), {});
  w.world.Run();
  Contradict(w.publisher, w.published, 1);
  w.world.Run();
  Brought brought;
  Brought from_other;
  do {
    brought.TakeFrom(reader.session(), fetch);
    from_other.TakeFrom(reader.session(), of_other);
  } while (w.world.Step());
  const auto cancelled = reader.One<moqt::RequestCancelled>();
  EXPECT_EQ(cancelled.request, fetch);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
  EXPECT_LT(brought.objects.size(), 100u);
  EXPECT_EQ(from_other.objects.size(), 100u);
}

// The track ends all the same, but nobody is told that this was all of it.
TEST(RelayEndings, AStreamThatNeverComesMakesABadEnd) {
  Followed w;
  const moqt::StreamId lost = *w.publisher->OpenSubgroup(w.published, moqt::SubgroupHeader{});
  w.publisher->OnBytesSent(lost, 1);  // Which get lost, and are not sent again after a reset.
  ASSERT_TRUE(
      w.publisher->ResetSubgroup(w.published, lost, moqt::ResetCode::kDeliveryTimeout).ok());
  ASSERT_TRUE(w.publisher->EndTrack(w.published, DoneCode::kTrackEnded, "").ok());
  w.world.Run();
  w.world.Wait(moqt::Limits().end_patience);
  w.world.Run();
  EXPECT_EQ(w.Done(), DoneCode::kInternalError);
  w.publisher.SendGroup(*w.publisher->Publish(w.track, {}, {}), w.track, 7, 1);
  w.world.Run();
  (void)w.world.Fetch(w.subscriber, w.track, {{7, 0}, {7, 0}});
  EXPECT_FALSE(w.subscriber.One<moqt::FetchAccepted>().answer.end_of_track);
}

// What was given up before anything of it was sent, nobody can wait for. Its publisher says that it
// does not know how much there is, and those behind us must not hear that this was all.
TEST(RelayEndings, AStreamThatWasNeverBegunMakesAnEndThatNobodyKnows) {
  Followed w;
  w.publisher.SendGroup(w.published, w.track, 0, 1);
  const moqt::StreamId left_out = *w.publisher->OpenSubgroup(w.published, moqt::SubgroupHeader{});
  ASSERT_TRUE(w.publisher->ResetSubgroup(w.published, left_out, moqt::ResetCode::kCancelled).ok());
  ASSERT_TRUE(w.publisher->EndTrack(w.published, DoneCode::kTrackEnded, "").ok());
  w.world.Run();
  w.world.Wait(moqt::Limits().end_patience);
  w.world.Run();
  const moqt::PublishDone done = w.subscriber.One<moqt::PublishDoneReceived>().done;
  EXPECT_EQ(done.code, DoneCode::kTrackEnded);
  EXPECT_EQ(done.streams, moqt::PublishDone::kStreamsUnknown);
  (void)w.world.Fetch(w.subscriber, w.track, {{0, 0}, {0, 0}});
  EXPECT_FALSE(w.subscriber.One<moqt::FetchAccepted>().answer.end_of_track);
}

// One who wants all tracks and has not read one to its end when it begins again; whether it hears
// of that.
bool HearsOfNewBeginning(uint64_t seed) {
  RelayWorld::Options options;
  options.seed = seed;
  options.connection.stream_window = 64;
  options.session.stream_queue_bytes = 1;
  RelayWorld world(options);
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& slow = world.Join();
  (void)*slow->SubscribeTracks(track.space(), {});
  world.Run();
  const RequestId first = *publisher->Publish(track, {}, {});
  world.Run();
  const RequestId to_slow = slow.One<moqt::PublishReceived>().request;
  EXPECT_TRUE(slow->AcceptPublish(to_slow, {}).ok());
  for (uint64_t group = 0; group < 20; ++group) {
    publisher.SendGroup(first, track, group, 10);
  }
  EXPECT_TRUE(publisher->EndTrack(first, DoneCode::kTrackEnded, "").ok());
  world.Run();
  EXPECT_TRUE(slow.Take<moqt::PublishDoneReceived>().empty());
  (void)*publisher->Publish(track, {}, {});
  world.Run();
  EXPECT_TRUE(slow.Take<moqt::PublishReceived>().empty());
  Brought brought;
  do {
    brought.TakeFrom(slow.session(), to_slow);
  } while (world.Step());
  world.Run();
  EXPECT_EQ(brought.objects.size(), 200u);
  EXPECT_TRUE(brought.track_end && brought.track_end->complete);
  return !slow.Take<moqt::PublishReceived>().empty();
}

// Where PUBLISH overtakes PUBLISH_DONE on the way, it is refused as a duplicate, as it has to be.
TEST(RelayEndings, ATrackThatBeginsAgainIsPublishedOnceItsEndHasBeenTold) {
  size_t heard = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    heard += HearsOfNewBeginning(seed) ? 1u : 0u;
  }
  EXPECT_GT(heard, 0u);
}

// Nobody can tell whether the last object that came was the last one there is.
TEST(RelayEndings, ATrackOfObjectsThatComeAloneHasNoKnownEnd) {
  Followed w;
  Object alone = ObjectAt(w.track, {7, 1});
  alone.forwarding = Forwarding::kDatagram;
  ASSERT_TRUE(w.publisher->SendDatagramObject(w.published, alone, false).ok());
  w.world.Run();
  ASSERT_TRUE(w.publisher->EndTrack(w.published, DoneCode::kTrackEnded, "").ok());
  w.world.Run();
  EXPECT_EQ(w.Done(), DoneCode::kTrackEnded);
  (void)w.world.Fetch(w.subscriber, w.track, {{7, 1}, {7, 1}});
  EXPECT_FALSE(w.subscriber.One<moqt::FetchAccepted>().answer.end_of_track);
}

TEST(RelayEndings, FollowersHearThatThePublisherHasLeft) {
  Followed w;
  w.world.Leave(w.publisher);
  w.world.Run();
  EXPECT_EQ(w.Done(), DoneCode::kInternalError);
}

TEST(RelayEndings, FollowersHearThatThePublisherBrokeOff) {
  Followed w;
  w.publisher->Cancel(w.published, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_EQ(w.Done(), DoneCode::kInternalError);
}

// It is the publisher that is going away, or has something against us: not we, nor they.
TEST(RelayEndings, FollowersAreNotToldWhatIsBetweenThePublisherAndUs) {
  for (const DoneCode code :
       {DoneCode::kGoingAway, DoneCode::kUnauthorized, DoneCode::kTooFarBehind, DoneCode::kExpired,
        DoneCode::kSubscriptionEnded}) {
    Followed w;
    ASSERT_TRUE(w.publisher->EndTrack(w.published, code, "").ok());
    w.world.Run();
    EXPECT_EQ(w.Done(), DoneCode::kInternalError) << static_cast<uint64_t>(code);
  }
}

TEST(RelayEndings, NobodyHearsOfAPublisherThatHasASecond) {
  Followed w;
  Client& second = w.world.Join();
  const RequestId published = *second->Publish(w.track, {}, {});
  w.world.Run();
  w.world.Leave(w.publisher);
  w.world.Run();
  EXPECT_TRUE(w.subscriber.Take<moqt::PublishDoneReceived>().empty());
  second.SendGroup(published, w.track, 0, 3);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.subscriber.session(), w.subscribed);
  EXPECT_EQ(brought.objects.size(), 3u);
}

// An object's time to be delivered runs from its first byte.
TEST(RelayTimeouts, CountFromWhenAnObjectBeganToCome) {
  RelayWorld::Options options;
  options.connection.cut_max = 50;
  Followed w(options);
  Client& patient = w.world.Join();
  Client& impatient = w.world.Join();
  const RequestId all = *patient->Subscribe(w.track, {});
  moqt::Parameters parameters;
  parameters.object_delivery_timeout_ms = 1000;
  const RequestId timely = *impatient->Subscribe(w.track, parameters);
  w.world.Run();
  const moqt::StreamId stream = w.publisher.OpenGroup(w.published, 0);
  ASSERT_TRUE(w.publisher->SendObject(w.published, stream, ObjectAt(w.track, {0, 0}, 1000)).ok());
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(w.world.Step());
  }
  w.world.Wait(std::chrono::seconds(2));
  for (Client* client : {&w.publisher, &patient, &impatient}) {
    client->server().OnTime(w.world.now());
  }
  w.world.Run();
  Brought late;
  late.TakeFrom(patient.session(), all);
  EXPECT_EQ(late.objects.size(), 1u);
  Brought timed_out;
  timed_out.TakeFrom(impatient.session(), timely);
  EXPECT_EQ(timed_out.objects.size(), 0u);
}

}  // namespace
}  // namespace kvcast::relay
