// What a relay takes of memory beside the blocks, and that it is theirs no more.
#include <gtest/gtest.h>

#include "kvcast/relay/catalogs.h"
#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

TEST(RelayMemory, HoldsLessWhileAnObjectIsOnItsWay) {
  constexpr size_t kRam = size_t{4} << 20;
  constexpr size_t kObject = 100'000;
  RelayWorld::Options options;
  options.relay.ram_bytes = kRam;
  options.connection.cut_max = 10'000;
  RelayWorld world(options);
  Client& publisher = world.Join();
  publisher.PublishAll(BlockTrack("p"), 60, 1, kObject);
  world.Run();
  ASSERT_GT(world.relay().listed_blocks() * kObject, kRam * 8 / 10);
  const TrackName large = BlockTrack("large");
  const RequestId request = *publisher->Publish(large, {}, {});
  publisher.SendGroup(request, large, 0, 1, 1'500'000);
  while (publisher.server().received_bytes() < 1'200'000 && world.Step()) {
  }
  ASSERT_GE(publisher.server().received_bytes(), 1'200'000u);
  EXPECT_LE(world.relay().listed_blocks() * kObject + publisher.server().received_bytes(), kRam);
  world.Run();
  EXPECT_EQ(world.Fetch(world.Join(), large, LocationRange::Groups(0, 0)).objects.size(), 1u);
}

TEST(RelayMemory, CountsWhatCatalogsKnow) {
  const Limits limits;
  Catalogs catalogs({}, {}, limits);
  for (const char* const name : {"p", "q"}) {
    for (uint64_t group = 0; group < 100; ++group) {
      catalogs.List(BlockTrack(name), group, KeyOf(BlockTrack(name), group), 1000);
    }
  }
  // A key and a number for each, at least, and each name twice.
  const size_t names = 4 * BlockTrack("p").space().First(3).Render().size();
  EXPECT_GT(catalogs.bytes(), 200 * (sizeof(Digest) + 2 * sizeof(uint64_t)) + names);
  (void)catalogs.TakeChanges();
  const size_t both = catalogs.bytes();
  for (uint64_t group = 0; group < 100; ++group) {
    catalogs.Unlist(BlockTrack("q"), group);
  }
  EXPECT_EQ(catalogs.bytes(), both / 2);
  for (uint64_t group = 0; group < 100; ++group) {
    catalogs.Unlist(BlockTrack("p"), group);
  }
  EXPECT_EQ(catalogs.bytes(), 0u);
}

}  // namespace
}  // namespace kvcast::relay
