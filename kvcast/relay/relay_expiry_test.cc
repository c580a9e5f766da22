// MAX_CACHE_DURATION: how long a publisher lets objects be served from what is kept.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using std::chrono::milliseconds;

const TrackName kTrack = BlockTrack("prefix");

Properties KeptFor(uint64_t ms) { return PropertiesBuilder().Number(0x04, ms).Build(); }

TEST(RelayExpiry, ObjectsAreServedOnlyAsLongAsTheirPublisherWants) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& reader = world.Join();
  const RequestId published = *publisher->Publish(kTrack, {}, KeptFor(1000));
  publisher.SendGroup(published, kTrack, 0, 2);
  world.Run();
  world.Wait(milliseconds(600));
  publisher.SendGroup(published, kTrack, 1, 2);
  world.Run();
  world.Wait(milliseconds(399));
  EXPECT_EQ(world.Fetch(reader, kTrack, LocationRange::Groups(0, 1)).objects.size(), 4u);
  world.Wait(milliseconds(1));
  const Brought later = world.Fetch(reader, kTrack, LocationRange::Groups(0, 1));
  ASSERT_EQ(later.objects.size(), 2u);
  EXPECT_EQ(later.objects[0].location.group, 1u);
  ASSERT_EQ(later.items.size(), 3u);  // Whether the others exist, nobody here can tell any more.
  EXPECT_TRUE(std::get<moqt::RangeEnd>(later.items[0]).unknown);
  EXPECT_EQ(world.relay().deadline(), world.now() + milliseconds(600));
  world.Wait(milliseconds(600));
  EXPECT_TRUE(world.Fetch(reader, kTrack, LocationRange::Groups(0, 1)).objects.empty());
  EXPECT_FALSE(world.relay().deadline().has_value());
}

// However long the rest of it took.
TEST(RelayExpiry, CountsFromTheBeginningOfAnObject) {
  RelayWorld::Options options;
  options.connection.cut_max = 1000;
  RelayWorld world(options);
  Client& publisher = world.Join();
  Client& reader = world.Join();
  const RequestId published = *publisher->Publish(kTrack, {}, KeptFor(1000));
  world.Run();
  publisher.SendGroup(published, kTrack, 0, 1, 100'000);
  for (size_t step = 0; step < 60; ++step) {
    (void)world.Step();
  }
  world.Wait(milliseconds(700));
  EXPECT_EQ(world.relay().listed_blocks(), 0u);  // It is still coming.
  world.Run();
  EXPECT_EQ(world.relay().listed_blocks(), 1u);
  EXPECT_EQ(world.relay().deadline(), Instant() + milliseconds(1000));
  world.Wait(milliseconds(299));
  EXPECT_EQ(world.Fetch(reader, kTrack, LocationRange::Groups(0, 0)).objects.size(), 1u);
  world.Wait(milliseconds(1));
  EXPECT_EQ(world.Fetch(reader, kTrack, LocationRange::Groups(0, 0)).objects.size(), 0u);
}

TEST(RelayExpiry, OfABlockUnlistsIt) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& reader = world.Join();
  CatalogFollower follower(reader);
  const RequestId published = *publisher->Publish(kTrack, {}, KeptFor(1000));
  publisher.SendGroup(published, kTrack, 0, 2);
  world.Run();
  follower.Follow();
  EXPECT_EQ(world.relay().listed_blocks(), 1u);
  world.Wait(milliseconds(1000));
  EXPECT_EQ(world.relay().listed_blocks(), 0u);
}

// A fetch that its reader slows down does not outlive what it fetches.
TEST(RelayExpiry, EndsWhatAFetchUnderWayMayBring) {
  RelayWorld::Options options;
  options.connection.stream_window = 4096;
  options.session.send_queue_high_bytes = 4096;
  options.session.send_queue_low_bytes = 1024;
  options.session.stream_queue_bytes = 1024;
  RelayWorld world(options);
  Client& publisher = world.Join();
  Client& reader = world.Join();
  const RequestId published = *publisher->Publish(kTrack, {}, KeptFor(1000));
  publisher.SendGroup(published, kTrack, 0, 100, 1000);
  world.Run();
  const RequestId fetch = *reader->Fetch(kTrack, LocationRange::Groups(0, 0), {});
  world.Run();
  world.Wait(milliseconds(1000));
  Brought brought;
  do {
    brought.TakeFrom(reader.session(), fetch);
  } while (world.Step());
  brought.TakeFrom(reader.session(), fetch);
  EXPECT_GT(brought.objects.size(), 0u);
  EXPECT_LT(brought.objects.size(), 20u);
  EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  EXPECT_TRUE(std::get<moqt::RangeEnd>(brought.items.back()).unknown);
}

TEST(RelayExpiry, IsNotThereWhereNobodyAskedForIt) {
  RelayWorld world;
  Client& publisher = world.Join();
  publisher.PublishAll(kTrack, 1, 2);
  world.Run();
  world.Wait(std::chrono::hours(10000));
  EXPECT_EQ(world.Fetch(world.Join(), kTrack, LocationRange::Groups(0, 0)).objects.size(), 2u);
}

}  // namespace
}  // namespace kvcast::relay
