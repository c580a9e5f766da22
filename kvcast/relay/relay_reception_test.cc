// What may come of one identity, and of all together, before it is whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kvcast/relay/relay_limits_test.h"

namespace kvcast::relay {
namespace {

// Publishers whose objects come piece by piece, of one after the other.
class RelayReception : public testing::Test {
 protected:
  static constexpr size_t kRoom = size_t{1} << 20;
  static constexpr size_t kPiece = 10'000;

  static RelayWorld::Options Options() {
    RelayWorld::Options options = Identified();
    options.connection.cut_max = kPiece;
    options.relay.ram_bytes = size_t{64} << 20;
    return options;
  }
  // Sends objects, each on a stream of its own, of which nothing comes yet.
  static TrackName Send(RelayWorld& world, Client& client, const std::string& name,
                        uint64_t objects, size_t bytes) {
    const TrackName track = LimitedTrack(name);
    const RequestId request = *client->Publish(track, {}, {});
    Bring(world, client);
    for (uint64_t group = 0; group < objects; ++group) {
      client.SendGroup(request, track, group, 1, bytes);
    }
    return track;
  }
  // Lets what this one has sent come, until so much of it is held, or all has come.
  static void Bring(RelayWorld& world, Client& client, size_t held = SIZE_MAX) {
    while (client.server().received_bytes() < held && client.connection().Step()) {
      world.relay().OnInput(client.peer(), world.now());
    }
  }
  static size_t Kept(RelayWorld& world, const TrackName& track, uint64_t objects) {
    Client& reader = world.Join({{}, {"two"}});
    while (reader.connection().Step()) {
      world.relay().OnInput(reader.peer(), world.now());
    }
    const RequestId request = *reader->Fetch(track, LocationRange::Groups(0, objects - 1), {});
    Brought brought;
    do {
      world.relay().OnInput(reader.peer(), world.now());
      brought.TakeFrom(reader.session(), request);
    } while (reader.connection().Step());
    brought.TakeFrom(reader.session(), request);
    return brought.objects.size();
  }
  // One has all the room, and stands still; and another has something to bring.
  static void ExpectToGiveWay(RelayWorld& world, Client& stalled, Client& busy) {
    (void)Send(world, stalled, "stalled", 10, 900'000);
    Bring(world, stalled, 950'000);
    ASSERT_GE(stalled.server().received_bytes(), 950'000u);
    for (const std::string name : {"a", "b", "c"}) {
      const TrackName track = Send(world, busy, name, 1, 400'000);
      Bring(world, busy);
      EXPECT_EQ(Kept(world, track, 1), 1u) << name;
    }
    EXPECT_LT(stalled.server().received_bytes(), 700'000u);
    Bring(world, stalled);
    EXPECT_GE(stalled.Take<moqt::SubgroupStopped>().size(), 1u);
    EXPECT_TRUE(stalled.Take<moqt::SessionClosed>().empty());
    EXPECT_TRUE(busy.Take<moqt::SubgroupStopped>().empty());
    EXPECT_GE(world.metrics().Value("kvcast_relay_refused_receptions_total"), 1);
    // It may send again, and is heard.
    const TrackName track = Send(world, stalled, "again", 1, 400'000);
    Bring(world, stalled);
    EXPECT_EQ(Kept(world, track, 1), 1u);
    EXPECT_EQ(stalled.server().received_bytes() + busy.server().received_bytes(), 0u);
  }
};

TEST_F(RelayReception, IsBoundedOverAllSessionsOfAnIdentity) {
  RelayWorld::Options options = Options();
  options.relay.limits.identity_receive_bytes = kRoom;
  RelayWorld world(options);
  Client& stalled = world.Join({{}, {"one"}});
  Client& busy = world.Join({{}, {"one"}});
  Client& other = world.Join({{}, {"two"}});
  world.Run();
  const TrackName track = Send(world, other, "other", 1, 900'000);
  Bring(world, other, 800'000);
  const size_t held = other.server().received_bytes();
  ASSERT_GE(held, 800'000u);
  ExpectToGiveWay(world, stalled, busy);
  EXPECT_EQ(other.server().received_bytes(), held);  // Of another identity, it is asked nothing.
  Bring(world, other);
  EXPECT_EQ(Kept(world, track, 1), 1u);
}

TEST_F(RelayReception, IsBoundedOverAllPeers) {
  RelayWorld::Options options = Options();
  options.relay.limits.node_receive_bytes = kRoom;
  RelayWorld world(options);
  Client& stalled = world.Join({{}, {"one"}});
  Client& busy = world.Join({{}, {"two"}});
  world.Run();
  ExpectToGiveWay(world, stalled, busy);
}

// However many objects have begun, and however they come: the bound holds, and who sends no more
// than there is room for loses nothing.
TEST_F(RelayReception, StaysWithinItsBoundWhoeverSends) {
  RelayWorld::Options options = Options();
  options.connection.stream_window = 10'000;
  options.relay.limits.node_receive_bytes = 4 * kRoom;
  RelayWorld world(options);
  std::vector<Client*> clients;
  std::vector<TrackName> tracks;
  for (size_t i = 0; i < 8; ++i) {
    clients.push_back(&world.Join({{}, {i % 2 == 0 ? "one" : "two"}}));
  }
  world.Run();
  for (size_t i = 0; i < clients.size(); ++i) {
    tracks.push_back(Send(world, *clients[i], "t" + std::to_string(i), 10, 100'000));
  }
  size_t most = 0;
  do {
    size_t held = 0;
    for (Client* client : clients) {
      held += client->server().received_bytes();
    }
    most = std::max(most, held);
  } while (world.Step());
  EXPECT_LE(most, 4 * kRoom);
  EXPECT_GT(most, 3 * kRoom / 2);  // It is made use of.
  for (const TrackName& track : tracks) {
    EXPECT_EQ(Kept(world, track, 10), 10u);
  }
  EXPECT_EQ(world.metrics().Value("kvcast_relay_refused_receptions_total"), 0);
}

}  // namespace
}  // namespace kvcast::relay
