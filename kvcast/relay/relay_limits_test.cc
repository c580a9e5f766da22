// What one peer, one identity and all together may cost a relay.
#include "kvcast/relay/relay_limits_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kvcast::relay {
namespace {

using moqt::DoneCode;
using moqt::RequestCode;

size_t RefusedFor(Client& client, RequestCode code) {
  const auto refused = client.Take<moqt::RequestRefused>();
  return static_cast<size_t>(std::ranges::count_if(
      refused, [&](const moqt::RequestRefused& each) { return each.error.code == code; }));
}

TEST(RelayLimits, CountsRequestsByIdentityAndNotBySession) {
  RelayWorld::Options options = Identified();
  options.relay.limits.requests_per_second = 10;
  options.relay.limits.requests_burst = 20;
  RelayWorld world(options);
  Client& first = world.Join({{}, {"one"}});
  Client& second = world.Join({{}, {"one"}});
  Client& other = world.Join({{}, {"two"}});
  Client& relay = world.Join({{}, {"relay"}});
  world.Run();
  for (int i = 0; i < 15; ++i) {
    for (Client* client : {&first, &second, &other, &relay}) {
      (void)*(*client)->AskTrackStatus(LimitedTrack("p"), {});
    }
  }
  for (int i = 0; i < 25; ++i) {
    (void)*relay->AskTrackStatus(LimitedTrack("p"), {});
  }
  world.Run();
  const auto refused = second.Take<moqt::RequestRefused>();
  const auto load = std::ranges::find_if(refused, [](const moqt::RequestRefused& each) {
    return each.error.code == RequestCode::kExcessiveLoad;
  });
  ASSERT_NE(load, refused.end());
  EXPECT_EQ(load->error.retry_after_ms, 100u);  // When there is one again.
  const auto count = static_cast<size_t>(std::ranges::count_if(
      refused, [](const auto& each) { return each.error.code == RequestCode::kExcessiveLoad; }));
  EXPECT_EQ(RefusedFor(first, RequestCode::kExcessiveLoad) + count, 10u);
  EXPECT_EQ(RefusedFor(other, RequestCode::kExcessiveLoad), 0u);
  EXPECT_EQ(RefusedFor(relay, RequestCode::kExcessiveLoad), 0u);  // By bytes alone.
  world.Wait(std::chrono::seconds(1));
  (void)*first->AskTrackStatus(LimitedTrack("p"), {});
  world.Run();
  EXPECT_EQ(RefusedFor(first, RequestCode::kExcessiveLoad), 0u);
}

TEST(RelayLimits, IsNotGotAroundByComingBack) {
  RelayWorld::Options options = Identified();
  options.relay.limits.requests_per_second = 1;
  options.relay.limits.requests_burst = 5;
  RelayWorld world(options);
  size_t refused = 0;
  for (int i = 0; i < 10; ++i) {
    Client& client = world.Join({{}, {"one"}});
    world.Run();
    (void)*client->AskTrackStatus(LimitedTrack("p"), {});
    world.Run();
    refused += RefusedFor(client, RequestCode::kExcessiveLoad);
    world.Leave(client);
  }
  EXPECT_EQ(refused, 5u);
}

TEST(RelayLimits, BoundsRequestsOfAllKindsOfAnIdentityAndNotOfARelay) {
  RelayWorld::Options options = Identified();
  options.relay.limits.streams_max = 3;
  RelayWorld world(options);
  Client& client = world.Join({{}, {"one"}});
  world.Run();
  (void)*client->Publish(LimitedTrack("a"), {}, {});
  (void)*client->Publish(LimitedTrack("b"), {}, {});
  world.Run();
  const RequestId third = *client->Subscribe(LimitedTrack("a"), {});
  world.Run();
  EXPECT_EQ(RefusedFor(client, RequestCode::kExcessiveLoad), 0u);
  (void)*client->Subscribe(LimitedTrack("b"), {});
  world.Run();
  EXPECT_EQ(RefusedFor(client, RequestCode::kExcessiveLoad), 1u);
  client->Cancel(third, moqt::ResetCode::kCancelled);
  world.Run();
  (void)*client->Subscribe(LimitedTrack("b"), {});
  world.Run();
  EXPECT_EQ(RefusedFor(client, RequestCode::kExcessiveLoad), 0u);
  Client& relay = world.Join({{}, {"relay"}});
  world.Run();
  for (const std::string name : {"c", "d", "e", "f", "g"}) {
    (void)*relay->Publish(LimitedTrack(name), {}, {});
  }
  world.Run();
  EXPECT_EQ(relay.Take<moqt::RequestAccepted>().size(), 5u);
}

TEST(RelayLimits, BoundsSubscriptionsFetchesAndNamespacesOfAnIdentity) {
  RelayWorld::Options options = Identified();
  options.relay.limits.subscriptions_max = 3;
  options.relay.limits.namespaces_max = 3;
  RelayWorld world(options);
  Client& publisher = world.Join({{}, {"two"}});
  Client& first = world.Join({{}, {"one"}});
  Client& second = world.Join({{}, {"one"}});
  std::vector<RequestId> subscriptions;
  for (const std::string name : {"a", "b", "c", "d"}) {
    (void)*publisher->Publish(LimitedTrack(name), {}, {});
  }
  world.Run();
  for (const std::string name : {"a", "b"}) {
    subscriptions.push_back(*first->Subscribe(LimitedTrack(name), {}));
    world.Run();
    (void)*second->Subscribe(LimitedTrack(name), {});
    world.Run();
  }
  EXPECT_EQ(RefusedFor(second, RequestCode::kExcessiveLoad), 1u);
  first->Cancel(subscriptions[0], moqt::ResetCode::kCancelled);
  world.Run();
  (void)*second->Subscribe(LimitedTrack("c"), {});
  world.Run();
  EXPECT_EQ(RefusedFor(second, RequestCode::kExcessiveLoad), 0u);
  for (const std::string name : {"e", "f"}) {
    (void)*first->PublishNamespace(LimitedTrack(name).space(), {});
    (void)*second->SubscribeNamespace(LimitedTrack(name).space(), {});
    world.Run();
  }
  EXPECT_EQ(RefusedFor(first, RequestCode::kExcessiveLoad) +
                RefusedFor(second, RequestCode::kExcessiveLoad),
            1u);
}

TEST(RelayLimits, BoundsUpdatesAsRequests) {
  RelayWorld::Options options = Identified();
  options.relay.limits.requests_per_second = 1;
  options.relay.limits.requests_burst = 5;
  RelayWorld world(options);
  Client& publisher = world.Join({{}, {"two"}});
  Client& client = world.Join({{}, {"one"}});
  (void)*publisher->Publish(LimitedTrack("a"), {}, {});
  world.Run();
  const RequestId request = *client->Subscribe(LimitedTrack("a"), {});
  world.Run();
  moqt::Parameters parameters;
  parameters.subscriber_priority = 7;
  for (int i = 0; i < 5; ++i) {
    (void)client->Update(request, parameters).ok();
    world.Run();
  }
  EXPECT_EQ(client.Take<moqt::UpdateAccepted>().size(), 4u);
  EXPECT_EQ(client.One<moqt::UpdateRefused>().error.code, RequestCode::kExcessiveLoad);
}

TEST(RelayLimits, BoundsPublicationsOfAnIdentity) {
  RelayWorld::Options options = Identified();
  options.relay.limits.publications_max = 2;
  RelayWorld world(options);
  Client& first = world.Join({{}, {"one"}});
  Client& second = world.Join({{}, {"one"}});
  Client& other = world.Join({{}, {"two"}});
  world.Run();
  (void)*first->Publish(LimitedTrack("a"), {}, {});
  const RequestId request = *second->Publish(LimitedTrack("b"), {}, {});
  world.Run();
  (void)*second->Publish(LimitedTrack("c"), {}, {});
  (void)*other->Publish(LimitedTrack("d"), {}, {});
  world.Run();
  EXPECT_EQ(RefusedFor(second, RequestCode::kExcessiveLoad), 1u);
  EXPECT_EQ(RefusedFor(other, RequestCode::kExcessiveLoad), 0u);
  ASSERT_TRUE(second->EndTrack(request, DoneCode::kTrackEnded, "").ok());
  world.Run();
  (void)*second->Publish(LimitedTrack("c"), {}, {});
  world.Run();
  EXPECT_EQ(RefusedFor(second, RequestCode::kExcessiveLoad), 0u);
}

TEST(RelayLimits, BoundsStreamsThatBringObjectsOfAnIdentityAndNotOfARelay) {
  RelayWorld::Options options = Identified();
  options.relay.limits.data_streams_max = 16;
  RelayWorld world(options);
  Client& first = world.Join({{}, {"one"}});
  Client& second = world.Join({{}, {"one"}});
  Client& relay = world.Join({{}, {"relay"}});
  world.Run();
  for (Client* client : {&first, &second, &relay}) {
    const RequestId request =
        *(*client)->Publish(LimitedTrack("p" + std::to_string(client->peer())), {}, {});
    world.Run();
    for (uint64_t group = 0; group < 12; ++group) {
      const moqt::StreamId stream = client->OpenGroup(request, group);
      ASSERT_TRUE(
          (*client)->SendObject(request, stream, ObjectAt(LimitedTrack("p"), {group, 0})).ok());
    }
    world.Run();
  }
  // Their control streams are two of the sixteen.
  EXPECT_EQ(first.Take<moqt::SubgroupStopped>().size(), 0u);
  EXPECT_EQ(second.Take<moqt::SubgroupStopped>().size(), 10u);
  EXPECT_EQ(relay.Take<moqt::SubgroupStopped>().size(), 0u);
  EXPECT_EQ(world.metrics().Value("kvcast_relay_refused_receptions_total"), 10);
}

// The rapid reset of HTTP/2, here: requests that are taken back as soon as they are made.
TEST(RelayLimits, ClosesASessionThatOnlyMakesWork) {
  RelayWorld::Options options = Identified();
  options.relay.limits.useless_per_second = 1;
  options.relay.limits.useless_burst = 50;
  RelayWorld world(options);
  Client& publisher = world.Join({{}, {"two"}});
  Client& client = world.Join({{}, {"one"}});
  (void)*publisher->Publish(LimitedTrack("a"), {}, {});
  world.Run();
  size_t rounds = 0;
  for (; rounds < 100 && client.Take<moqt::SessionClosed>().empty(); ++rounds) {
    const auto request = client->Subscribe(LimitedTrack("a"), {});
    if (request.ok()) {
      world.Run();
      client->Cancel(*request, moqt::ResetCode::kCancelled);
    }
    world.Run();
  }
  EXPECT_GE(rounds, 50u);
  EXPECT_LT(rounds, 60u);
  EXPECT_TRUE(publisher.Take<moqt::SessionClosed>().empty());
}

TEST(RelayLimits, EndsAFetchOfWhichNothingIsTaken) {
  RelayWorld world(LittleRoom());
  Client& publisher = world.Join();
  publisher.PublishAll(BlockTrack("p"), 1, 200, 1000);
  world.Run();
  Client& reader = world.Join();
  world.Run();
  const RequestId stalled = *reader->Fetch(BlockTrack("p"), LocationRange::Groups(0, 0), {});
  world.Run();
  ASSERT_GT(reader.server().queued_bytes(), 0u);
  for (int i = 0; i < 10; ++i) {
    world.Wait(std::chrono::seconds(10));
    world.Run();
  }
  EXPECT_EQ(reader.server().queued_bytes(), 0u);
  const auto cancelled = reader.One<moqt::RequestCancelled>();
  EXPECT_EQ(cancelled.request, stalled);
  EXPECT_EQ(cancelled.code, static_cast<uint64_t>(moqt::ResetCode::kTooFarBehind));
  EXPECT_EQ(world.metrics().Value("kvcast_relay_fetches_cut_total"), 1);
  // It may ask again, and take it.
  EXPECT_EQ(world.Fetch(reader, BlockTrack("p"), LocationRange::Groups(0, 0)).objects.size(), 200u);
}

// Slow is not stalled: whoever takes a little now and then goes on.
TEST(RelayLimits, WaitsForASlowFetchAsLongAsItGetsOn) {
  RelayWorld world(LittleRoom());
  Client& publisher = world.Join();
  publisher.PublishAll(BlockTrack("p"), 1, 200, 1000);
  world.Run();
  Client& reader = world.Join();
  world.Run();
  const RequestId slow = *reader->Fetch(BlockTrack("p"), LocationRange::Groups(0, 0), {});
  world.Run();
  size_t taken = 0;
  for (int i = 0; i < 400 && taken < 200; ++i) {
    for (int piece = 0; piece < 8; ++piece) {
      const auto item = reader->Take(slow);
      taken += item && std::holds_alternative<moqt::ReceivedObject>(*item) ? 1u : 0u;
    }
    world.Run();
    world.Wait(std::chrono::seconds(15));
    world.Run();
  }
  EXPECT_EQ(taken, 200u);
}

TEST(RelayLimits, EndsASubscriptionOfWhichNothingIsTaken) {
  RelayWorld world(LittleRoom());
  Client& publisher = world.Join();
  const RequestId request = *publisher->Publish(BlockTrack("p"), {}, {});
  world.Run();
  Client& reader = world.Join();
  (void)*reader->Subscribe(BlockTrack("p"), {});
  world.Run();
  publisher.SendGroup(request, BlockTrack("p"), 0, 100, 1000);
  world.Run();
  ASSERT_GT(reader.server().queued_bytes(), 0u);
  for (int i = 0; i < 20; ++i) {
    world.Wait(std::chrono::seconds(10));
    world.Run();
  }
  EXPECT_EQ(reader.server().queued_bytes(), 0u);
  EXPECT_EQ(world.metrics().Value("kvcast_relay_subscriptions_cut_total"), 1);
}

// Fifty readers of one publisher, of whom ten take nothing and ten take little.
struct Crowd {
  explicit Crowd(bool fetch) : world(Options()) {
    publisher = &world.Join();
    world.Run();
    for (size_t i = 0; i < 50; ++i) {
      readers.push_back(&world.Join());
    }
    world.Run();
    publication = *(*publisher)->Publish(track, {}, {});
    world.Run();
    brought.resize(readers.size());
    requests.resize(readers.size());
    if (!fetch) {
      for (size_t i = 0; i < readers.size(); ++i) {
        requests[i] = *(*readers[i])->Subscribe(track, {});
      }
      world.Run();
    }
  }
  static RelayWorld::Options Options() {
    RelayWorld::Options options = LittleRoom();
    options.relay.ram_bytes = 64 << 20;
    options.relay.limits.subscription_queue_bytes = 100'000;
    options.relay.limits.peer_queue_bytes = 200'000;
    options.relay.limits.fetch_queue_bytes = 100'000;
    options.connection.cut_max = 1 << 14;
    return options;
  }
  static bool Stalls(size_t reader) { return reader < 10; }
  static bool IsSlow(size_t reader) { return reader >= 10 && reader < 20; }

  // Everyone takes what they take; the slow ones one object in so many rounds.
  void Round() {
    ++rounds;
    for (size_t i = 0; i < readers.size(); ++i) {
      if (Stalls(i)) {
        continue;
      }
      if (!IsSlow(i)) {
        brought[i].TakeFrom(readers[i]->session(), requests[i]);
      } else if (rounds % 200 == 0) {
        (void)(*readers[i])->Take(requests[i]);
      }
    }
  }
  void RunAll() {
    do {
      Round();
      size_t queued = 0;
      for (Client* reader : readers) {
        queued += reader->server().queued_bytes();
      }
      queued_most = std::max(queued_most, queued);
    } while (world.Step());
    Round();
  }

  RelayWorld world;
  TrackName track = BlockTrack("p");
  Client* publisher = nullptr;
  RequestId publication = 0;
  std::vector<Client*> readers;
  std::vector<RequestId> requests;
  std::vector<Brought> brought;
  size_t rounds = 0;
  size_t queued_most = 0;
};

TEST(RelayLimits, LetsNobodyWaitForTenWhoStallAndTenWhoAreSlow) {
  Crowd crowd(/*fetch=*/false);
  for (uint64_t group = 0; group < 10; ++group) {
    crowd.publisher->SendGroup(crowd.publication, crowd.track, group, 60, 1000);
    crowd.RunAll();
  }
  for (size_t i = 0; i < crowd.readers.size(); ++i) {
    if (!Crowd::Stalls(i) && !Crowd::IsSlow(i)) {
      EXPECT_EQ(crowd.brought[i].objects.size(), 600u) << i;
    }
  }
  EXPECT_GE(crowd.world.metrics().Value("kvcast_relay_subscriptions_cut_total"), 10);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(crowd.readers[i]->One<moqt::PublishDoneReceived>().done.code,
              DoneCode::kTooFarBehind);
  }
  // Twenty times what a subscription may have waiting, an object each, and what is on its way.
  EXPECT_LT(crowd.queued_most, 20 * 110'000u + 30 * 90'000u);
  EXPECT_LT(crowd.world.relay().stored_bytes(), size_t{64} << 20);
  // What waited for them is let go of, once nothing of it has been taken for long enough.
  for (int i = 0; i < 15; ++i) {
    crowd.world.Wait(std::chrono::seconds(10));
    crowd.RunAll();
  }
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(crowd.readers[i]->server().queued_bytes(), 0u) << i;
  }
}

TEST(RelayLimits, LetsNoFetchWaitForTenWhoStallAndTenWhoAreSlow) {
  Crowd crowd(/*fetch=*/true);
  for (uint64_t group = 0; group < 20; ++group) {
    crowd.publisher->SendGroup(crowd.publication, crowd.track, group, 20, 1000);
    crowd.RunAll();
  }
  for (size_t i = 0; i < crowd.readers.size(); ++i) {
    crowd.requests[i] = *(*crowd.readers[i])->Fetch(crowd.track, LocationRange::Groups(0, 19), {});
  }
  crowd.RunAll();
  for (size_t i = 20; i < crowd.readers.size(); ++i) {
    EXPECT_EQ(crowd.brought[i].objects.size(), 400u) << i;
  }
  EXPECT_LT(crowd.queued_most, 50 * 60'000u);
  for (int i = 0; i < 10; ++i) {
    crowd.world.Wait(std::chrono::seconds(10));
    crowd.RunAll();
  }
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(crowd.readers[i]->server().queued_bytes(), 0u) << i;
  }
}

TEST(RelayLimits, SharesWhatMayWaitForAllAmongThoseWhoAreBehind) {
  Limits limits;
  limits.peer_queue_bytes = 10 << 20;
  limits.identity_queue_bytes = 12 << 20;  // Where there are others, half of what all have.
  SendShares shares(limits, 16 << 20);
  for (uint64_t peer = 0; peer < 4; ++peer) {
    shares.Join(peer, peer < 2 ? "one" : "other " + std::to_string(peer));
  }
  EXPECT_EQ(shares.MostFor(0), size_t{10} << 20);
  shares.Set(0, 7 << 20);
  shares.Set(1, 6 << 20);
  EXPECT_EQ(shares.MostFor(0), size_t{4} << 20);   // Its identity has too much: half of it.
  EXPECT_EQ(shares.MostFor(2), size_t{10} << 20);  // Others have not.
  shares.Set(2, 5 << 20);
  EXPECT_EQ(shares.MostFor(3), size_t{16 << 20} / 3);  // The node has.
  shares.Leave(0);
  EXPECT_EQ(shares.MostFor(1), size_t{10} << 20);
  shares.Set(1, 0);
  shares.Set(2, 0);
  EXPECT_EQ(shares.total(), 0u);
}

}  // namespace
}  // namespace kvcast::relay
