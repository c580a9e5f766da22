// How much of a relay one identity may take, however many sessions it has and whatever comes later.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kvcast/relay/relay_limits_test.h"

namespace kvcast::relay {
namespace {

size_t RefusedAsLoad(Client& client) {
  const auto refused = client.Take<moqt::RequestRefused>();
  return static_cast<size_t>(std::ranges::count_if(refused, [](const moqt::RequestRefused& each) {
    return each.error.code == moqt::RequestCode::kExcessiveLoad;
  }));
}

void AskTenTimes(RelayWorld& world, Client& client) {
  for (int i = 0; i < 10; ++i) {
    (void)*client->AskTrackStatus(LimitedTrack("p"), {});
  }
  world.Run();
}

// Else one token would take every connection that there is.
TEST(RelayIdentities, HaveOnlySoManySessions) {
  RelayWorld::Options options = Identified();
  options.relay.limits.sessions_max = 2;
  RelayWorld world(options);
  Client& first = world.Join({{}, {"one"}});
  Client& second = world.Join({{}, {"one"}});
  world.Run();
  Client& third = world.Join({{}, {"one"}});
  Client& other = world.Join({{}, {"two"}});
  world.Run();
  const auto closed = third.One<moqt::SessionClosed>();
  EXPECT_EQ(closed.code, static_cast<uint64_t>(moqt::SessionCode::kUnauthorized));
  EXPECT_TRUE(other.Take<moqt::SessionClosed>().empty());
  // Who is here stays when the rules are read again.
  world.relay().ReplaceAccess(options.relay.access, {}, world.now());
  world.Run();
  EXPECT_TRUE(first.Take<moqt::SessionClosed>().empty());
  EXPECT_TRUE(second.Take<moqt::SessionClosed>().empty());
  world.Leave(first);
  Client& fourth = world.Join({{}, {"one"}});
  world.Run();
  EXPECT_TRUE(fourth.Take<moqt::SessionClosed>().empty());
}

TEST(RelayIdentities, AreBoundedByLimitsThatCameWhileTheyWereHere) {
  RelayWorld::Options options = Identified();
  RelayWorld world(options);
  Client& client = world.Join({{}, {"one"}});
  world.Run();
  AskTenTimes(world, client);
  EXPECT_EQ(RefusedAsLoad(client), 0u);
  Limits limits = world.relay().limits();
  limits.requests_per_second = 1;
  limits.requests_burst = 3;
  world.relay().SetLimits(limits);
  AskTenTimes(world, client);
  EXPECT_EQ(RefusedAsLoad(client), 7u);
  limits.requests_per_second = 0;
  world.relay().SetLimits(limits);
  AskTenTimes(world, client);
  EXPECT_EQ(RefusedAsLoad(client), 0u);
}

// A node of which little may wait, and readers that take nothing.
class RelayQueue : public testing::Test {
 protected:
  static constexpr size_t kNodeBytes = 100'000;

  static RelayWorld::Options Options() {
    RelayWorld::Options options = Identified();
    const RelayWorld::Options little = LittleRoom();
    options.session = little.session;
    options.connection = little.connection;
    options.relay.ram_bytes = size_t{64} << 20;
    options.relay.limits.node_queue_bytes = kNodeBytes;
    return options;
  }
  void Stall(size_t readers, const std::string& identity) {
    publisher_.PublishAll(track_, 1, 200, 1000);
    world_.Run();
    for (size_t i = 0; i < readers; ++i) {
      stalled_.push_back(&world_.Join({{}, {identity}}));
      world_.Run();
      (void)*(*stalled_.back())->Fetch(track_, LocationRange::Groups(0, 0), {});
    }
    world_.Run();
  }
  size_t Queued() {
    size_t queued = 0;
    for (Client* client : stalled_) {
      queued += client->server().queued_bytes();
    }
    return queued;
  }

  RelayWorld world_{Options()};
  TrackName track_ = LimitedTrack("p");
  Client& publisher_ = world_.Join({{}, {"two"}});
  std::vector<Client*> stalled_;
};

TEST_F(RelayQueue, IsBoundedHoweverManyTakeNothing) {
  Stall(60, "relay");
  EXPECT_LT(Queued(), 2 * kNodeBytes + SendShares::kLeast + 2000);
}

TEST_F(RelayQueue, LeavesRoomForOthersThanOneIdentity) {
  Stall(60, "one");
  EXPECT_LT(Queued(), kNodeBytes + SendShares::kLeast + 2000);
  Client& other = world_.Join({{}, {"two"}});
  world_.Run();
  EXPECT_EQ(world_.Fetch(other, track_, LocationRange::Groups(0, 0)).objects.size(), 200u);
}

// Long before those are ended whom nobody waits for.
TEST_F(RelayQueue, EndsThoseWhoStandStillSoonerWhileOthersWait) {
  Stall(8, "one");
  Client& late = world_.Join({{}, {"one"}});
  world_.Run();
  const RequestId request = *late->Fetch(track_, LocationRange::Groups(0, 0), {});
  Brought brought;
  for (int second = 0; second < 55; ++second) {
    world_.Run();
    brought.TakeFrom(late.session(), request);
    world_.Wait(std::chrono::seconds(1));
  }
  EXPECT_EQ(brought.objects.size(), 200u);
  EXPECT_GE(world_.metrics().Value("kvcast_relay_fetches_cut_total"), 1);
}

TEST(SendShares, ShrinkWithEveryoneWhoSharesAndAreFullAtTwiceTheBound) {
  Limits limits;
  limits.identity_queue_bytes = 1 << 20;
  SendShares shares(limits, 4 << 20);
  for (uint64_t peer = 0; peer < 32; ++peer) {
    shares.Join(peer, peer < 16 ? "one" : "other " + std::to_string(peer));
    shares.Set(peer, 100'000);
  }
  EXPECT_EQ(shares.MostFor(0), size_t{1 << 20} / 16);  // Less than 256 KiB.
  EXPECT_FALSE(shares.IsFull(0));
  shares.Set(1, 700'000);
  EXPECT_TRUE(shares.IsFull(0));  // Its identity has twice what it may.
  EXPECT_FALSE(shares.IsFull(20));
  shares.Set(31, 6 << 20);
  EXPECT_TRUE(shares.IsFull(20));
  shares.Leave(31);
  EXPECT_FALSE(shares.IsFull(20));
}

}  // namespace
}  // namespace kvcast::relay
