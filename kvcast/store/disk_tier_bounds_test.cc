// What a disk tier does when reservations, the index or a lowered budget leave it no room.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

constexpr size_t kStepsMax = 50'000;

TrackName TenantTrack(std::string_view tenant, std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"service", std::string(tenant) + "/model", "prefix"}),
                        name);
}

class BoundedDisk : public DiskTierFixture {
 public:
  explicit BoundedDisk(uint64_t segments, std::map<std::string, uint64_t> reservations = {})
      : DiskTierFixture(segments), reservations_(std::move(reservations)) {
    StartBounded();
  }
  void StartBounded() {
    ++options.seed;
    DiskEvictionOptions wanted;
    wanted.limits = {.bytes_max = options.bytes_max, .ghosts_max = 100};
    wanted.reservations = reservations_;
    auto made = *DiskEviction::Of(wanted);
    eviction = made.get();
    tier = std::make_unique<DiskTier>(options, std::move(made));
    EXPECT_TRUE(ComesToRest());
  }
  bool ComesToRest() {
    size_t steps = 0;
    while (steps < kStepsMax && Step()) {
      ++steps;
    }
    return steps < kStepsMax;
  }
  bool Has(const TrackName& track, uint64_t group) const {
    const auto found = tier->FindGroup(track, group);
    return found && found->object_count > 0;
  }
  // Says whether it was acknowledged. It is answered, whatever the answer is.
  bool PutAnswered(const TrackName& track, const Object& object) {
    const auto ticket = tier->Put(track, object, 1, now);
    if (!ticket.ok()) {
      return false;
    }
    EXPECT_TRUE(ComesToRest());
    for (int waits = 0; waits < 5 && !Answered(*ticket); ++waits) {
      now += seconds(1);
      tier->OnTime(now);
      EXPECT_TRUE(ComesToRest());
    }
    EXPECT_TRUE(Answered(*ticket));
    return written.contains(*ticket);
  }

  DiskEviction* eviction = nullptr;

 private:
  bool Answered(TierTicket ticket) const {
    return written.contains(ticket) || failed.contains(ticket);
  }
  std::map<std::string, uint64_t> reservations_;
};

struct Shape {
  size_t payload;
  size_t properties;
  unsigned percent;
};

// Records take more than their payloads, and small ones much more.
TEST(DiskTierBounds, AReservationThatIsFullStopsNobodyForEver) {
  for (const Shape& shape : {Shape{16, 4000, 12}, Shape{100, 0, 50}, Shape{600, 0, 50},
                             Shape{3000, 0, 50}, Shape{300, 0, 25}}) {
    constexpr uint64_t kBudgetSegments = 24;
    const uint64_t reserved =
        (kSuperblockBytes + kBudgetSegments * DiskTierFixture::kSegmentBytes) * shape.percent / 100;
    BoundedDisk disk(kBudgetSegments, {{"alice", reserved}});
    const TrackName alice = TenantTrack("alice", "t");
    Object object;
    if (shape.properties > 0) {
      object.properties =
          PropertiesBuilder().Bytes(0x4001, std::string(shape.properties, 'p')).Build();
    }
    object.payload = Bytes::Of(std::string(shape.payload, 'x'));
    uint64_t put = 0;
    for (uint64_t group = 0; put < reserved + reserved / 4; ++group) {
      for (uint64_t number = 0; number < 8; ++number) {
        object.location = {group, number};
        (void)disk.tier->Put(alice, object, 1, disk.now);
        put += shape.payload + shape.properties + 150;
      }
      ASSERT_TRUE(disk.ComesToRest()) << shape.payload;
    }
    int acknowledged = 0;
    for (uint64_t group = 0; group < 60; ++group) {
      acknowledged +=
          disk.PutAnswered(TenantTrack("bob", "b"), DiskObject({group, 0}, std::string(2000, 'y')));
      disk.now += seconds(1);
      disk.tier->OnTime(disk.now);
    }
    EXPECT_GT(acknowledged, 40) << shape.payload;
    EXPECT_EQ(disk.tier->counts().gave_up, 0u) << shape.payload;
    EXPECT_GE(disk.eviction->tenant_bytes("alice") + 40'000, reserved) << shape.payload;
    EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  }
}

// Who has nothing reserved is evicted for want of memory as for want of room: by the policy.
TEST(DiskTierBounds, AFullIndexCostsNobodyWhatIsReserved) {
  BoundedDisk disk(40, {{"alice", 20 * DiskTierFixture::kSegmentBytes}});
  disk.options.index_bytes_max = 300'000;
  disk.StartBounded();
  const TrackName alice = TenantTrack("alice", "t");
  uint64_t number = 0;
  const auto flood = [&](int count) {
    int acknowledged = 0;
    for (int i = 0; i < count; ++i, ++number) {
      const TrackName bob = TenantTrack("bob", std::to_string(number / 1000));
      acknowledged += disk.PutAnswered(bob, DiskObject({number, 0}, "x"));
    }
    return acknowledged;
  };
  for (uint64_t group = 0; group < 30; ++group) {
    ASSERT_TRUE(disk.PutAnswered(alice, DiskObject({group, 0}, std::string(4096, 'a'))));
    flood(30);
  }
  EXPECT_GT(flood(2000), 1500);
  EXPECT_LT(disk.tier->index_bytes(), 300'000u + 20'000u);
  EXPECT_GT(disk.tier->counts().gave_up, 0u);
  for (uint64_t group = 0; group < 30; ++group) {
    EXPECT_TRUE(disk.Has(alice, group)) << group;
  }
}

// Nothing lies anywhere but in the segment that is being written, and yet there is no more memory.
TEST(DiskTierBounds, AnIndexFullOfWhatIsBeingWrittenHelpsItself) {
  BoundedDisk disk(40);
  disk.options.index_bytes_max = 80'000;
  disk.StartBounded();
  int acknowledged = 0;
  for (uint64_t number = 0; number < 1000; ++number) {
    const bool done = disk.PutAnswered(TenantTrack("bob", "b"), DiskObject({number, 0}, "x"));
    acknowledged += done ? 1 : 0;
    if (!done) {
      disk.now += seconds(1);
      disk.tier->OnTime(disk.now);
      ASSERT_TRUE(disk.ComesToRest());
    }
  }
  EXPECT_GT(acknowledged, 500);
  EXPECT_LE(disk.tier->segments().segments.size(), 6u);
}

// Whatever a start finds no room for goes by the policy, and is told.
TEST(DiskTierBounds, AStartWithLessTellsWhatGoes) {
  for (const bool index : {false, true}) {
    BoundedDisk disk(30, {{"alice", 4 * DiskTierFixture::kSegmentBytes}});
    const TrackName alice = TenantTrack("alice", "t");
    const TrackName bob = TenantTrack("bob", "b");
    constexpr uint64_t kMine = 20;
    constexpr uint64_t kTheirs = 380;
    for (uint64_t group = 0; group < kTheirs; ++group) {
      ASSERT_TRUE(disk.PutAnswered(bob, DiskObject({group, 0}, std::string(3000, 'b'))));
      if (group % 19 == 0) {
        ASSERT_TRUE(disk.PutAnswered(alice, DiskObject({group / 19, 0}, std::string(3000, 'a'))));
      }
    }
    disk.tier->Seal(disk.now);
    ASSERT_TRUE(disk.ComesToRest());
    std::set<uint64_t> here;
    for (uint64_t group = 0; group < kTheirs; ++group) {
      if (disk.Has(bob, group)) {
        here.insert(group);
      }
    }
    ASSERT_GT(here.size(), 300u);
    disk.evicted.clear();
    if (index) {
      disk.options.index_bytes_max = disk.tier->index_bytes() * 2 / 3;
    } else {
      disk.options.bytes_max = kSuperblockBytes + 12 * DiskTierFixture::kSegmentBytes;
    }
    disk.device = disk.device.AfterKill();
    disk.StartBounded();
    EXPECT_LT(disk.tier->index_bytes(), disk.options.index_bytes_max);
    EXPECT_LE(disk.tier->allocated_bytes(), disk.options.bytes_max);
    EXPECT_EQ(disk.tier->counts().gave_up > 0, index);
    for (const EvictedGroup& evicted : disk.evicted) {
      EXPECT_EQ(evicted.track, bob);
      EXPECT_EQ(here.erase(evicted.group), 1u) << evicted.group;
    }
    EXPECT_GT(here.size(), 30u);
    for (const uint64_t group : here) {
      EXPECT_TRUE(disk.Has(bob, group)) << group;
    }
    for (uint64_t group = 0; group < kMine; ++group) {
      EXPECT_TRUE(disk.Has(alice, group)) << group;
    }
  }
}

// Where nothing may go, puts are refused, and what is here is served.
TEST(DiskTierBounds, RefusesPutsWhereAllThatIsHereIsUnread) {
  BoundedDisk disk(6);
  const TrackName track = TenantTrack("a", "t");
  uint64_t group = 0;
  while (disk.tier->segments().segments.size() < 4) {
    ASSERT_TRUE(disk.PutAnswered(track, DiskObject({group++, 0}, std::string(9000, 'a'))));
  }
  disk.device = disk.device.AfterKill();
  disk.device.faults().fail_at = 3;  // Behind the list and the superblock.
  disk.device.faults().fail_count = UINT64_MAX;
  disk.StartBounded();
  for (int second = 0; second < 10; ++second) {
    disk.now += seconds(1);
    disk.tier->OnTime(disk.now);
    ASSERT_TRUE(disk.ComesToRest());
  }
  ASSERT_EQ(disk.tier->unread_segments(), 4u);
  disk.device.faults().fail_at = 0;
  const uint64_t removed = disk.tier->counts().segments_removed;
  int refused = 0;
  for (uint64_t more = 0; more < 40; ++more) {
    refused +=
        disk.PutAnswered(track, DiskObject({1000 + more, 0}, std::string(9000, 'a'))) ? 0 : 1;
  }
  EXPECT_GT(refused, 20);
  EXPECT_EQ(disk.tier->counts().segments_removed, removed);
}

// An object without a payload takes memory while it waits.
TEST(DiskTierBounds, EmptyObjectsThatWaitAreCounted) {
  BoundedDisk disk(40);
  disk.options.queue_bytes_max = 100'000;
  disk.StartBounded();
  uint64_t taken = 0;
  while (disk.tier->Put(TenantTrack("a", "t"), DiskObject({0, taken}, ""), 0, disk.now).ok()) {
    ASSERT_LT(++taken, 200u);
  }
  EXPECT_GT(taken, 50u);
  ASSERT_TRUE(disk.ComesToRest());
  EXPECT_EQ(disk.tier->queued_bytes(), 0u);
}

}  // namespace
}  // namespace kvcast
