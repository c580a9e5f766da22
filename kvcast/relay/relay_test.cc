#include "kvcast/relay/relay.h"

#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::DoneCode;
using moqt::RequestCode;

void ExpectExact(const TrackName& track, const std::vector<Object>& objects, size_t bytes = 100) {
  for (const Object& object : objects) {
    EXPECT_EQ(object.payload.ToString(), PayloadAt(track, object.location, bytes));
  }
}

TEST(Relay, ServesWhatWasPublishedAfterThePublisherHasLeft) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  publisher.PublishAll(track, 3, 5);
  world.Run();
  world.Leave(publisher);

  Client& reader = world.Join();
  const Brought brought = world.Fetch(reader, track, LocationRange::Groups(0, 2));
  const moqt::FetchOk ok = reader.One<moqt::FetchAccepted>().answer;
  EXPECT_TRUE(ok.end_of_track);
  EXPECT_EQ(ok.last, (Location{2, 4}));
  EXPECT_EQ(brought.objects.size(), 15u);
  EXPECT_EQ(brought.items.size(), 15u);
  ASSERT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  ExpectExact(track, brought.objects);
}

TEST(Relay, CountsWhatItGivesFromMemory) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  client.PublishAll(track, 3, 5);
  world.Run();
  world.Fetch(client, track, LocationRange::Groups(0, 1));
  world.Run();
  EXPECT_EQ(world.metrics().Value("kvcast_store_memory_hits_total"), 10);
}

TEST(Relay, FetchesInFallingOrder) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  client.PublishAll(track, 3, 2);
  world.Run();
  const Brought brought =
      world.Fetch(client, track, LocationRange::Groups(0, 9), moqt::GroupOrder::kDescending);
  std::vector<Location> order;
  for (const Object& object : brought.objects) {
    order.push_back(object.location);
  }
  EXPECT_EQ(order, (std::vector<Location>{{2, 0}, {2, 1}, {1, 0}, {1, 1}, {0, 0}, {0, 1}}));
}

TEST(Relay, KeepsEveryFieldOfAnObject) {
  RelayWorld world;
  Client& client = world.Join();
  const TrackName track = BlockTrack("p");
  const Properties of_track = PropertiesBuilder().Number(0x0e, 7).Build();
  const RequestId request = *client->Publish(track, {}, of_track);
  moqt::SubgroupHeader header;
  header.group = 4;
  header.mode = moqt::SubgroupHeader::Mode::kExplicit;
  header.subgroup = 9;
  header.priority = 3;
  header.properties = true;
  const moqt::StreamId stream = *client->OpenSubgroup(request, header);
  Object object = ObjectAt(track, {4, 2});
  object.properties = PropertiesBuilder().Bytes(0x3803, "unknown to us").Build();
  ASSERT_TRUE(client->SendObject(request, stream, object).ok());
  world.Run();
  const Brought brought = world.Fetch(client, track, {{4, 2}, {4, 2}});
  ASSERT_EQ(brought.objects.size(), 1u);
  EXPECT_EQ(brought.objects[0].subgroup, 9u);
  EXPECT_EQ(brought.objects[0].priority, 3);
  EXPECT_EQ(brought.objects[0].properties, object.properties);
  EXPECT_EQ(client.One<moqt::FetchAccepted>().answer.properties, of_track);
}

TEST(Relay, RefusesWhatIsNotHere) {
  RelayWorld world;
  Client& client = world.Join();
  const TrackName track = BlockTrack("p");
  (void)*client->Fetch(track, LocationRange::Groups(0, 0), {});
  (void)*client->Subscribe(track, {});
  (void)*client->AskTrackStatus(track, {});
  world.Run();
  for (const auto& refused : client.Take<moqt::RequestRefused>()) {
    EXPECT_EQ(refused.error.code, RequestCode::kDoesNotExist);
  }
  EXPECT_EQ(world.metrics().Value("kvcast_relay_refusals_total", {{"code", "does_not_exist"}}), 3);

  // The track is here, but nothing of it, or nothing as far as that.
  const RequestId request = *client->Publish(track, {}, {});
  world.Run();
  (void)*client->Fetch(track, LocationRange::Groups(0, 0), {});
  world.Run();
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kInvalidRange);
  client.SendGroup(request, track, 0, 2);
  world.Run();
  (void)*client->Fetch(track, LocationRange::Groups(1, 1), {});
  world.Run();
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, RequestCode::kInvalidRange);
}

TEST(Relay, AnswersTrackStatusWithTheLargestObject) {
  RelayWorld world;
  Client& client = world.Join();
  const TrackName track = BlockTrack("p");
  const Properties properties = PropertiesBuilder().Number(0x0e, 7).Build();
  const RequestId published = *client->Publish(track, {}, properties);
  client.SendGroup(published, track, 2, 4);
  world.Run();
  (void)client.Take<moqt::RequestAccepted>();
  (void)*client->AskTrackStatus(track, {});
  world.Run();
  const auto answer = client.One<moqt::RequestAccepted>();
  EXPECT_EQ(answer.parameters.largest_object, (Location{2, 3}));
  EXPECT_EQ(answer.properties, properties);
}

// Never "does not exist", although nobody can be asked any more.
TEST(Relay, SaysUnknownOfWhatAVanishedPublisherLeftOut) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& reader = world.Join();
  CatalogFollower follower(reader);
  const RequestId request = *publisher->Publish(track, {}, {});
  publisher.SendGroup(request, track, 0, 3);
  const moqt::StreamId open = publisher.OpenGroup(request, 2);
  for (uint64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(publisher->SendObject(request, open, ObjectAt(track, {2, i})).ok());
  }
  world.Run();
  publisher.connection().Break();
  world.Run();
  world.Leave(publisher);

  const Brought brought = world.Fetch(reader, track, LocationRange::Groups(0, 2));
  EXPECT_EQ(brought.objects.size(), 5u);
  ASSERT_EQ(brought.items.size(), 6u);
  EXPECT_EQ(std::get<moqt::RangeEnd>(brought.items[3]), (moqt::RangeEnd{{1, kWhole}, true}));
  EXPECT_FALSE(reader.One<moqt::FetchAccepted>().answer.end_of_track);
  // Only the whole one is listed.
  follower.Follow();
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.Listed(track), (std::map<uint64_t, Digest>{{0, KeyOf(track, 0)}}));
}

TEST(Relay, PausesAFetchThatIsNotTaken) {
  RelayWorld world(LittleRoom());
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  client.PublishAll(track, 4, 50, 1000);
  world.Run();
  const RequestId request = *client->Fetch(track, LocationRange::Groups(0, 3), {});
  world.Run();
  EXPECT_GT(client.server().queued_bytes(), 10'000u);
  EXPECT_LT(client.server().queued_bytes(), 60'000u);
  // Another one is not delayed.
  EXPECT_EQ(world.Fetch(client, track, {{3, 0}, {3, 9}}).objects.size(), 10u);
  Brought brought;
  do {
    brought.TakeFrom(client.session(), request);
  } while (world.Step());
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(brought.objects.size(), 200u);
  ExpectExact(track, brought.objects, 1000);
}

TEST(Relay, BoundsAllFetchesOfAPeerTogether) {
  RelayWorld::Options options;
  options.relay.limits.fetch_queue_bytes = 100'000;
  options.connection.connection_window = 5'000'000;
  options.session.session_queue_bytes = 30'000;
  RelayWorld world(options);
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  publisher.PublishAll(track, 1, 50, 1000);
  world.Run();
  Client& reader = world.Join();
  world.Run();
  std::vector<RequestId> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back(*reader->Fetch(track, LocationRange::Groups(0, 0), {}));
  }
  size_t largest = 0;
  std::vector<Brought> brought(requests.size());
  do {
    largest = std::max(largest, reader.server().queued_bytes());
    for (size_t i = 0; i < requests.size(); ++i) {
      brought[i].TakeFrom(reader.session(), requests[i]);
    }
  } while (world.Step());
  EXPECT_LT(largest, 110'000u);
  EXPECT_GT(largest, 90'000u);
  for (Brought& one : brought) {
    EXPECT_EQ(one.objects.size(), 50u);
  }
}

TEST(Relay, StopsServingAFetchThatIsCancelled) {
  RelayWorld::Options options;
  options.session.send_queue_high_bytes = 5'000;
  options.session.send_queue_low_bytes = 1'000;
  options.connection.stream_window = 5'000;
  options.session.stream_queue_bytes = 5'000;
  RelayWorld world(options);
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  client.PublishAll(track, 4, 50, 1000);
  world.Run();
  const double before = world.metrics().Value("kvcast_relay_sent_objects_total");
  const RequestId request = *client->Fetch(track, LocationRange::Groups(0, 3), {});
  world.Run();
  client->Cancel(request, moqt::ResetCode::kCancelled);
  world.Run();
  EXPECT_LT(world.metrics().Value("kvcast_relay_sent_objects_total") - before, 20);
  EXPECT_EQ(client.server().queued_bytes(), 0u);
}

TEST(Relay, ForwardsLiveObjectsToEverySubscriber) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& a = world.Join();
  Client& b = world.Join();
  const RequestId request = *publisher->Publish(track, {}, {});
  world.Run();
  const RequestId at_a = *a->Subscribe(track, {});
  world.Run();
  publisher.SendGroup(request, track, 0, 4);
  world.Run();
  moqt::Parameters later;
  later.filter = moqt::SubscriptionFilter{moqt::SubscriptionFilter::Type::kNextGroupStart, {}, 0};
  const RequestId at_b = *b->Subscribe(track, later);
  world.Run();
  EXPECT_EQ(b.One<moqt::RequestAccepted>().parameters.largest_object, (Location{0, 3}));
  publisher.SendGroup(request, track, 1, 3);
  ASSERT_TRUE(publisher->EndTrack(request, DoneCode::kTrackEnded, "").ok());
  world.Run();
  Brought by_a;
  by_a.TakeFrom(a.session(), at_a);
  Brought by_b;
  by_b.TakeFrom(b.session(), at_b);
  EXPECT_EQ(by_a.objects.size(), 7u);
  EXPECT_EQ(by_b.objects.size(), 3u);
  ExpectExact(track, by_a.objects);
  ASSERT_EQ(by_a.subgroups.size(), 2u);
  EXPECT_TRUE(by_a.subgroups[0].complete && by_a.subgroups[0].end_of_group);
  ASSERT_TRUE(by_a.track_end.has_value());
  EXPECT_EQ(by_b.track_end->done.code, DoneCode::kTrackEnded);
}

TEST(Relay, TellsTheHostWhomItHasActedUpon) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  Client& other = world.Join();
  const RequestId request = *publisher->Publish(track, {}, {});
  world.Run();
  (void)*subscriber->Subscribe(track, {});
  world.Run();
  publisher.SendGroup(request, track, 0, 1);
  (void)world.relay().TakeTouched();
  while (publisher.connection().Step()) {
  }
  world.relay().OnInput(publisher.peer(), world.now());
  const std::vector<PeerId> touched = world.relay().TakeTouched();
  EXPECT_EQ(touched, (std::vector<PeerId>{publisher.peer(), subscriber.peer()}));
  EXPECT_FALSE(std::ranges::count(touched, other.peer()));
  EXPECT_TRUE(world.relay().TakeTouched().empty());
}

TEST(Relay, CutsASlowSubscriberAndDelaysNobody) {
  RelayWorld::Options options;
  options.relay.limits.subscription_queue_bytes = 30'000;
  options.session.stream_queue_bytes = 5'000;
  options.connection.stream_window = 5'000;
  RelayWorld world(options);
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& slow = world.Join();
  Client& fast = world.Join();
  const RequestId request = *publisher->Publish(track, {}, {});
  world.Run();
  const RequestId at_slow = *slow->Subscribe(track, {});
  const RequestId at_fast = *fast->Subscribe(track, {});
  world.Run();
  Brought brought;
  const moqt::StreamId stream = publisher.OpenGroup(request, 0);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(publisher->SendObject(request, stream, ObjectAt(track, {0, i}, 1000)).ok());
    do {
      brought.TakeFrom(fast.session(), at_fast);
    } while (world.Step());
    EXPECT_LT(slow.server().queued_bytes(), 40'000u);
  }
  EXPECT_EQ(brought.objects.size(), 100u);
  EXPECT_EQ(slow.One<moqt::PublishDoneReceived>().done.code, DoneCode::kTooFarBehind);
  EXPECT_EQ(world.metrics().Value("kvcast_relay_subscriptions_cut_total"), 1);
  // It can come back for what it missed.
  slow->Cancel(at_slow, moqt::ResetCode::kCancelled);
  world.Run();
  EXPECT_EQ(world.Fetch(slow, track, {{0, 0}, {0, 99}}).objects.size(), 100u);
}

TEST(Relay, LeavesAlonePausedAndStoppedSubscribers) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  const RequestId request = *publisher->Publish(track, {}, {});
  world.Run();
  moqt::Parameters paused;
  paused.forward = false;
  const RequestId subscribed = *subscriber->Subscribe(track, paused);
  world.Run();
  publisher.SendGroup(request, track, 0, 3);
  world.Run();
  Brought brought;
  brought.TakeFrom(subscriber.session(), subscribed);
  EXPECT_TRUE(brought.objects.empty());
  EXPECT_EQ(world.metrics().Value("kvcast_relay_sent_objects_total"), 0);
}

// The first to say what stands at a location is right.
TEST(Relay, BreaksOffAPublicationThatContradictsAnother) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& first = world.Join();
  Client& second = world.Join();
  Client& subscriber = world.Join();
  const RequestId kept = *first->Publish(track, {}, {});
  first.SendGroup(kept, track, 0, 2);
  world.Run();
  const RequestId subscribed = *subscriber->Subscribe(track, {});
  const RequestId request = *second->Publish(track, {}, {});
  second.SendGroup(request, track, 0, 2);  // The same again is fine.
  world.Run();
  EXPECT_TRUE(second.Take<moqt::RequestCancelled>().empty());
  const moqt::StreamId stream = second.OpenGroup(request, 0);
  Object other = ObjectAt(track, {0, 1});
  other.payload = Bytes::Of("something else");
  ASSERT_TRUE(second->SendObject(request, stream, other).ok());
  world.Run();
  const auto cancelled = second.One<moqt::RequestCancelled>();
  EXPECT_EQ(cancelled.request, request);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
  EXPECT_EQ(world.metrics().Value("kvcast_relay_malformed_tracks_total"), 1);
  EXPECT_EQ(subscriber.One<moqt::PublishDoneReceived>().done.code, DoneCode::kMalformedTrack);
  (void)subscribed;
  const Brought brought = world.Fetch(subscriber, track, LocationRange::Groups(0, 0));
  EXPECT_EQ(brought.objects.size(), 2u);
  ExpectExact(track, brought.objects);
}

TEST(Relay, BreaksOffAPublicationThatGoesOnBeyondAnEnd) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  const RequestId request = *client->Publish(track, {}, {});
  client.SendGroup(request, track, 0, 2);
  world.Run();
  const moqt::StreamId stream = client.OpenGroup(request, 0);
  ASSERT_TRUE(client->SendObject(request, stream, ObjectAt(track, {0, 7})).ok());
  world.Run();
  EXPECT_EQ(client.One<moqt::RequestCancelled>().code,
            static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
}

// What it contradicts is another publisher's: its own session has nothing against it.
TEST(Relay, KeepsNoDatagramThatEndsItsGroupBeforeAnotherObject) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& first = world.Join();
  Client& second = world.Join();
  const RequestId kept = *first->Publish(track, {}, {});
  const moqt::StreamId stream = first.OpenGroup(kept, 3);
  ASSERT_TRUE(first->SendObject(kept, stream, ObjectAt(track, {3, 4})).ok());
  const RequestId request = *second->Publish(track, {}, {});
  world.Run();
  Object alone = ObjectAt(track, {3, 1});
  alone.forwarding = Forwarding::kDatagram;
  ASSERT_TRUE(second->SendDatagramObject(request, alone, true).ok());
  world.Run();
  EXPECT_EQ(second.One<moqt::RequestCancelled>().code,
            static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
  const Brought brought = world.Fetch(first, track, LocationRange::Groups(3, 3));
  ASSERT_EQ(brought.objects.size(), 1u);
  EXPECT_EQ(brought.objects[0].location, (Location{3, 4}));
}

// The track does not end where its last group cannot.
TEST(Relay, BelievesNoEndOfATrackThatContradictsAGroups) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& first = world.Join();
  Client& second = world.Join();
  const RequestId kept = *first->Publish(track, {}, {});
  first.SendGroup(kept, track, 5, 2);
  const RequestId request = *second->Publish(track, {}, {});
  world.Run();
  moqt::SubgroupHeader header;
  header.group = 5;
  header.mode = moqt::SubgroupHeader::Mode::kExplicit;
  header.subgroup = 1;
  const moqt::StreamId stream = *second->OpenSubgroup(request, header);
  Object end;
  end.location = {5, 4};
  end.subgroup = 1;
  end.status = ObjectStatus::kEndOfTrack;
  ASSERT_TRUE(second->SendObject(request, stream, end).ok());
  world.Run();
  EXPECT_EQ(second.One<moqt::RequestCancelled>().code,
            static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack));
  first.SendGroup(kept, track, 6, 1);
  world.Run();
  EXPECT_TRUE(first.Take<moqt::RequestCancelled>().empty());
}

// An object that says so ends a group as well as a stream's header does.
TEST(Relay, BelievesObjectsThatEndGroupAndTrack) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  CatalogFollower follower(client);
  const RequestId request = *client->Publish(track, {}, {});
  moqt::SubgroupHeader header;
  header.properties = true;
  const moqt::StreamId stream = *client->OpenSubgroup(request, header);
  for (uint64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(client->SendObject(request, stream, ObjectAt(track, {0, i})).ok());
  }
  Object end;
  end.location = {0, 2};
  end.status = ObjectStatus::kEndOfTrack;
  ASSERT_TRUE(client->SendObject(request, stream, end).ok());
  ASSERT_TRUE(client->EndSubgroup(request, stream).ok());
  world.Run();
  const Brought brought = world.Fetch(client, track, LocationRange::Groups(0, 5));
  EXPECT_EQ(brought.items.size(), 2u);
  EXPECT_TRUE(client.One<moqt::FetchAccepted>().answer.end_of_track);
  follower.Follow();
  world.Run();
  follower.Follow();
  EXPECT_EQ(follower.Listed(track).size(), 1u);
}

// A publisher that does not know its number of streams is waited for, but not for ever.
TEST(Relay, GivesUpOnStreamsThatNeverCome) {
  RelayWorld world;
  const TrackName track = BlockTrack("p");
  Client& client = world.Join();
  const RequestId request = *client->Publish(track, {}, {});
  const moqt::StreamId lost = client.OpenGroup(request, 0);
  client->OnStopSending(lost, 1);  // Reset before its header was sent.
  ASSERT_TRUE(client->EndTrack(request, DoneCode::kTrackEnded, "").ok());
  world.Run();
  Client& follower = world.Join();
  const RequestId followed = *follower->Subscribe(track, {});
  world.Run();
  EXPECT_TRUE(follower.Take<moqt::PublishDoneReceived>().empty());
  world.Wait(moqt::Limits().end_patience);
  world.Run();
  EXPECT_EQ(follower.One<moqt::PublishDoneReceived>().request, followed);
}

// The peer's word reaches us together with its change of mind.
TEST(Relay, KeepsNothingOfAPublicationThatWasCancelledBeforeItWasSeen) {
  RelayWorld world;
  Client& client = world.Join();
  world.Run();
  const size_t before = world.relay().stored_bytes();
  const RequestId request = *client->Publish(BlockTrack("p"), {}, {});
  while (!client.server().has_event() && client.connection().Step()) {
  }
  ASSERT_TRUE(client.server().has_event());
  client->Cancel(request, moqt::ResetCode::kCancelled);
  while (client.connection().Step()) {
  }
  world.relay().OnInput(client.peer(), world.now());
  world.Run();
  EXPECT_EQ(world.relay().stored_bytes(), before);
}

TEST(Relay, ForgetsTracksThatCameToNothing) {
  RelayWorld world;
  Client& client = world.Join();
  world.Run();
  const size_t before = world.relay().stored_bytes();
  client.PublishAll(BlockTrack("empty"), 0, 0);
  world.Run();
  EXPECT_EQ(world.relay().stored_bytes(), before);
}

TEST(Relay, RefusesPublicationsThatItHasNoRoomFor) {
  RelayWorld::Options options;
  options.relay.ram_bytes = 20'000;
  RelayWorld world(options);
  Client& client = world.Join();
  for (int i = 0; i < 30; ++i) {
    (void)*client->Publish(BlockTrack(std::to_string(i)), {}, {});
  }
  world.Run();
  const auto refused = client.Take<moqt::RequestRefused>();
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(refused[0].error.code, RequestCode::kExcessiveLoad);
  EXPECT_FALSE(client.Take<moqt::RequestAccepted>().empty());
  EXPECT_LE(world.relay().stored_bytes(), 20'000u);
}

}  // namespace
}  // namespace kvcast::relay
