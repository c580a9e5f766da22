// Upstreams that are leaving, and the sessions that take the place of theirs.
#include <gtest/gtest.h>

#include <set>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

class RelayMoves : public testing::Test {
 protected:
  static constexpr const char* kAsked = "kvcast_upstream_fetches_total";
  static constexpr const char* kCame = "kvcast_upstream_objects_total";
  static constexpr uint64_t kGroups = 4;
  static constexpr uint64_t kEach = 10;
  static constexpr size_t kAll = kGroups * kEach;
  static constexpr LocationRange kWanted{{0, 0}, {kGroups - 1, kEach - 1}};
  static constexpr Duration kMovePatience = std::chrono::seconds(2);

  static RelayWorld::Options Pieces() {
    RelayWorld::Options options;
    options.connection.cut_max = 500;
    options.relay.limits.move_patience = kMovePatience;
    return options;
  }
  void PublishAbove() { levels_.Publish(above_, track_, kGroups, kEach, 1000); }
  void SayGoodbye(uint64_t timeout_ms = 0) {
    ASSERT_TRUE(old_->server.SendGoAway("", timeout_ms).ok());
  }
  // Begins a fetch of everything, and goes on until some of it has come and the upstream is
  // leaving. From then on nothing moves on its session.
  RequestId BeginAndStall(Client& client) {
    const RequestId request = *client->Fetch(track_, kWanted, {});
    while (below_.Count(kCame) < 5) {
      EXPECT_TRUE(levels_.Step());
    }
    SayGoodbye();
    while (!old_->client.goaway()) {
      EXPECT_TRUE(levels_.Step());
    }
    old_->stalled = true;
    EXPECT_LT(below_.Count(kCame), kAll);
    return request;
  }
  size_t Brings(Client& client, RequestId request) {
    Brought brought;
    do {
      brought.TakeFrom(client.session(), request);
    } while (levels_.Step());
    brought.TakeFrom(client.session(), request);
    return brought.objects.size();
  }

  const TrackName track_ = BlockTrack("p");
  Levels levels_{Pieces()};
  Levels::Node& above_ = levels_.AddNode();
  Levels::Node& below_ = levels_.AddNode({{}});
  Levels::Link* old_ = &levels_.Connect(below_, above_);
};

TEST_F(RelayMoves, AskTheSessionThatHasTakenThePlace) {
  PublishAbove();
  SayGoodbye();
  levels_.Run();
  EXPECT_FALSE(old_->client.closed());  // There is no other yet.
  Levels::Link& next = levels_.Connect(below_, above_);
  EXPECT_TRUE(old_->client.closed());  // Nothing is under way there.
  EXPECT_FALSE(next.client.closed());
  Client& client = levels_.Join(below_);
  levels_.Run();
  EXPECT_EQ(levels_.Fetch(client, track_, kWanted).objects.size(), kAll);
}

TEST_F(RelayMoves, LetWhatIsUnderWayComeToItsEnd) {
  PublishAbove();
  Client& first = levels_.Join(below_);
  Client& second = levels_.Join(below_);
  levels_.Run();
  const RequestId begun = BeginAndStall(first);
  const Levels::Link& next = levels_.Connect(below_, above_);
  // Who asks for the same now waits for it, too.
  const RequestId joined = *second->Fetch(track_, kWanted, {});
  levels_.Run();
  EXPECT_FALSE(old_->client.closed());
  old_->stalled = false;
  levels_.Run();
  EXPECT_EQ(Brings(first, begun), kAll);
  EXPECT_EQ(Brings(second, joined), kAll);
  EXPECT_EQ(below_.Count(kAsked), 1u);
  EXPECT_EQ(below_.Count(kCame), kAll);
  EXPECT_TRUE(old_->client.closed());
  EXPECT_FALSE(next.client.closed());
}

TEST_F(RelayMoves, AskForTheRestWhatTheOldSessionDoesNotBring) {
  PublishAbove();
  Client& client = levels_.Join(below_);
  levels_.Run();
  const RequestId begun = BeginAndStall(client);
  (void)levels_.Connect(below_, above_);
  levels_.Disconnect(*old_);
  EXPECT_EQ(Brings(client, begun), kAll);
  EXPECT_EQ(below_.Count(kAsked), 2u);
  EXPECT_EQ(below_.Count(kCame), kAll);  // Nothing has come twice.
}

TEST_F(RelayMoves, WaitOnlySoLongForTheOldSession) {
  PublishAbove();
  Client& client = levels_.Join(below_);
  levels_.Run();
  const RequestId begun = BeginAndStall(client);
  (void)levels_.Connect(below_, above_);
  levels_.Wait(kMovePatience);
  EXPECT_TRUE(old_->client.closed());
  EXPECT_EQ(Brings(client, begun), kAll);
  EXPECT_EQ(below_.Count(kCame), kAll);
}

// Between one session and the next nobody can be asked, and nobody is told that it is not here.
TEST_F(RelayMoves, PutOffWhatIsAskedInBetween) {
  PublishAbove();
  Client& client = levels_.Join(below_);
  SayGoodbye();
  levels_.Run();
  const RequestId fetch = *client->Fetch(track_, kWanted, {});
  levels_.Run();
  EXPECT_TRUE(client.Take<moqt::RequestRefused>().empty());
  EXPECT_EQ(below_.Count(kAsked), 0u);
  (void)levels_.Connect(below_, above_);
  EXPECT_EQ(Brings(client, fetch), kAll);
  EXPECT_EQ(below_.Count(kAsked), 1u);
}

// The upstream had said that it leaves before it was asked, but was not heard yet.
TEST_F(RelayMoves, PutOffWhatIsRefusedBecauseOfIt) {
  PublishAbove();
  Client& client = levels_.Join(below_);
  Client& follower = levels_.Join(below_);
  levels_.Run();
  SayGoodbye();
  const RequestId fetch = *client->Fetch(track_, kWanted, {});
  const RequestId subscription = *follower->Subscribe(BlockTrack("live"), {});
  levels_.Run();
  EXPECT_TRUE(client.Take<moqt::RequestRefused>().empty());
  EXPECT_TRUE(follower.Take<moqt::RequestRefused>().empty());
  Client& publisher = levels_.Join(above_);
  const RequestId live = *publisher->Publish(BlockTrack("live"), {}, {});
  levels_.Run();
  (void)levels_.Connect(below_, above_);
  EXPECT_EQ(Brings(client, fetch), kAll);
  EXPECT_EQ(follower.One<moqt::RequestAccepted>().request, subscription);
  publisher.SendGroup(live, BlockTrack("live"), 0, 3);
  EXPECT_EQ(Brings(follower, subscription), 3u);
}

TEST_F(RelayMoves, PutOffOnlySoLong) {
  PublishAbove();
  Client& client = levels_.Join(below_);
  SayGoodbye();
  levels_.Run();
  (void)*client->Fetch(track_, kWanted, {});
  (void)*client->Subscribe(BlockTrack("live"), {});
  levels_.Run();
  EXPECT_TRUE(client.Take<moqt::RequestRefused>().empty());
  levels_.Wait(Limits().upstream_patience);
  const auto refused = client.Take<moqt::RequestRefused>();
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].error.code, moqt::RequestCode::kTimeout);
  EXPECT_EQ(refused[1].error.code, moqt::RequestCode::kTimeout);
}

TEST_F(RelayMoves, PassOnWhatTheNextSessionSaysOfASubscription) {
  Client& client = levels_.Join(below_);
  SayGoodbye();
  levels_.Run();
  (void)*client->Subscribe(BlockTrack("nowhere"), {});
  levels_.Run();
  EXPECT_TRUE(client.Take<moqt::RequestRefused>().empty());
  (void)levels_.Connect(below_, above_);
  EXPECT_EQ(client.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kDoesNotExist);
}

TEST_F(RelayMoves, LoseNothingOfALiveTrack) {
  Client& publisher = levels_.Join(above_);
  Client& follower = levels_.Join(below_);
  levels_.Run();
  const RequestId live = *publisher->Publish(track_, {}, {});
  levels_.Run();
  const RequestId subscription = *follower->Subscribe(track_, {});
  levels_.Run();
  const moqt::StreamId open = publisher.OpenGroup(live, 0);
  const auto send = [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      ASSERT_TRUE(publisher->SendObject(live, open, ObjectAt(track_, {0, i}, 1000)).ok());
    }
  };
  send(0, 5);
  SayGoodbye();
  levels_.Run();
  send(5, 10);
  (void)levels_.Connect(below_, above_);
  send(10, 15);
  ASSERT_TRUE(publisher->EndSubgroup(live, open).ok());
  publisher.SendGroup(live, track_, 1, 5);
  levels_.Run();
  levels_.Disconnect(*old_);
  publisher.SendGroup(live, track_, 2, 5);
  Brought brought;
  do {
    brought.TakeFrom(follower.session(), subscription);
  } while (levels_.Step());
  brought.TakeFrom(follower.session(), subscription);
  std::set<Location> places;
  for (const Object& object : brought.objects) {
    EXPECT_TRUE(places.insert(object.location).second) << object.location.ToString();
  }
  EXPECT_EQ(places.size(), 25u);
  EXPECT_FALSE(brought.track_end.has_value());
}

// What is held here is told upstream by the next session.
TEST_F(RelayMoves, OfferWhatIsHereAgain) {
  Client& reader = levels_.Join(above_);
  CatalogFollower follower(reader);
  const auto follow = [&] {
    do {
      follower.Follow();
    } while (levels_.Step());
    follower.Follow();
  };
  levels_.Publish(below_, BlockTrack("a"), 1, 2);
  follow();
  EXPECT_EQ(follower.Listed(BlockTrack("a")).size(), 1u);
  SayGoodbye();
  levels_.Run();
  (void)levels_.Connect(below_, above_);
  follow();
  EXPECT_TRUE(old_->client.closed());
  levels_.Disconnect(*old_);
  levels_.Publish(below_, BlockTrack("b"), 1, 2);
  follow();
  EXPECT_EQ(follower.Listed(BlockTrack("b")).size(), 1u);
  EXPECT_EQ(levels_.Fetch(reader, BlockTrack("b"), LocationRange::Groups(0, 0)).objects.size(), 2u);
}

}  // namespace
}  // namespace kvcast::relay
