// What a disk tier does while it empties segments: with devices that fail and dawdle, and with
// removals that have to be moved along.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Kind = DeviceRequest::Kind;

// A drain that had to be held has moved something already: what comes of that is not for the next
// drain of the segment to count.
TEST(DiskTierDrain, ASegmentIsEmptiedAgainWhileWhatWasMovedIsStillBeingWritten) {
  DrainedDisk disk;
  disk.Start();
  for (uint64_t group = 0; group < 6; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, std::string(5000, 'x'))).ok());
  }
  bool bad = true;
  disk.fails = [&](const DeviceRequest& request) {
    return bad && request.kind == Kind::kRead && request.file == 1 && request.offset >= 32768 &&
           request.length <= 12288;
  };
  disk.keeps_back = [](const DeviceRequest& request) {
    return request.kind == Kind::kWrite && request.file > 1;
  };
  disk.StartDrained();
  ASSERT_FALSE(disk.kept.empty());
  ASSERT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kHeld);
  bad = false;
  disk.WaitDrained(1, seconds(3));
  disk.LetGo();
  disk.WaitDrained(10, seconds(10));
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
  EXPECT_TRUE(disk.tier->idle());
  EXPECT_EQ(disk.Acknowledged(DiskTrack("b"), 200), 200);
}

// As long as something of a file is being read it must not be removed.
TEST(DiskTierDrain, ADrainIsHeldOnlyWhenNothingIsReadAnyMore) {
  DrainedDisk disk;
  disk.Start();
  for (uint64_t group = 0; group < 6; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, std::string(5000, 'x'))).ok());
  }
  const auto of_one = [](const DeviceRequest& request) {
    return request.kind == Kind::kRead && request.file == 1 && request.length <= 12288 &&
           request.offset >= kDeviceBlockBytes;
  };
  int failures = 1;
  disk.fails = [&](const DeviceRequest& request) { return of_one(request) && failures-- > 0; };
  disk.keeps_back = of_one;
  disk.StartDrained();
  ASSERT_FALSE(disk.kept.empty());
  EXPECT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kFrail);
  disk.WaitDrained(3, seconds(10));
  EXPECT_TRUE(disk.tier->segments().segments.at(1).draining);
  disk.LetGo();
  EXPECT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kHeld);
  disk.WaitDrained(3, seconds(10));
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
}

// A tenant with far less than is reserved for it, beside a flow of others' objects for which a
// small disk has to give up one segment after another. What is reserved is moved along all the
// time.
class ReservedDisk : public DrainedDisk {
 public:
  ReservedDisk() : DrainedDisk(10) {
    DiskEvictionOptions wanted;
    wanted.limits = {.bytes_max = options.bytes_max, .ghosts_max = 100};
    wanted.reservations = {{"anna", 2 * kSegmentBytes}};
    tier = std::make_unique<DiskTier>(options, *DiskEviction::Of(wanted));
    RunDrained();
  }
  static TrackName Reserved() {
    return *TrackName::Of(*TrackNamespace::Of({"service", "anna/model", "prefix"}), "kept");
  }
  bool PutDrained(const TrackName& track, Location location, size_t bytes) {
    const auto ticket = tier->Put(track, DiskObject(location, std::string(bytes, 'p')), 1, now);
    RunDrained();
    return ticket.ok() && written.contains(*ticket);
  }
  // Groups of two objects that are reserved, the first well before the second, and others.
  void Flow(uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      if (i % 5 == 0 && i < 20) {
        const Location location{i / 10, i / 5 % 2};
        if (PutDrained(Reserved(), location, 9000)) {
          acknowledged.push_back(location);
        }
      }
      (void)PutDrained(DiskTrack("flow"), {i, 0}, 20000);
      WaitDrained(1, seconds(2));
    }
  }
  // Of what was acknowledged, as reads tell.
  std::vector<Location> Lost() {
    std::vector<Location> lost;
    fails = nullptr;
    for (const Location location : acknowledged) {
      if (!Get(Reserved(), location)) {
        lost.push_back(location);
      }
    }
    return lost;
  }

  std::vector<Location> acknowledged;
};

TEST(DiskTierDrain, WhicheverReadFailsOnceNothingThatIsReservedGoes) {
  uint64_t reads = 1;  // In all.
  uint64_t carried = 0;
  for (uint64_t fail_at = 0; fail_at < reads; ++fail_at) {
    ReservedDisk disk;
    reads = 0;
    disk.fails = [&](const DeviceRequest& request) {
      return request.kind == Kind::kRead && reads++ == fail_at;
    };
    disk.Flow(0, 40);
    ASSERT_EQ(disk.acknowledged.size(), 4u) << fail_at;
    ASSERT_EQ(disk.Lost(), std::vector<Location>()) << "read " << fail_at << " of " << reads;
    EXPECT_EQ(disk.tier->counts().gave_up, 0u);
    carried += disk.tier->counts().carried;
  }
  EXPECT_GT(carried, 100u);
}

// Its room is taken in the end; that costs what cannot be read, and not what belongs to it.
TEST(DiskTierDrain, WhatCanNeverBeReadGoesAloneAfterAFewTries) {
  ReservedDisk disk;
  std::optional<std::pair<DeviceFile, uint64_t>> bad;  // The first that is to be moved.
  uint64_t failures = 0;
  disk.fails = [&](const DeviceRequest& request) {
    const std::pair place(request.file, request.offset);
    const bool moves = request.kind == Kind::kRead && request.length <= 16384 && request.offset > 0;
    const bool fails = moves && bad.value_or(place) == place;
    bad = fails ? place : bad;
    failures += fails ? 1 : 0;
    return fails;
  };
  disk.Flow(0, 100);
  ASSERT_EQ(disk.acknowledged.size(), 4u);
  ASSERT_TRUE(bad);
  EXPECT_EQ(failures, 4u);
  EXPECT_FALSE(disk.tier->segments().segments.contains(static_cast<uint32_t>(bad->first)));
  EXPECT_EQ(disk.Lost().size(), 1u);
  EXPECT_EQ(std::ranges::count(disk.evicted, ReservedDisk::Reserved(), &EvictedGroup::track), 1);
}

// As for a bucket, which then has it.
TEST(DiskTierDrain, AGroupIsHandedOverAlthoughItsFirstReadFails) {
  DrainedDisk disk;
  disk.Start();
  disk.tier->HandOverEvicted();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, std::string(5000, 'x'))).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 1}, std::string(5000, 'y'))).ok());
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("a"), {0, 2}, disk.now).ok());
  disk.Run();
  int failures = 1;
  disk.fails = [&](const DeviceRequest& request) {
    return request.kind == Kind::kRead && request.file == 1 && request.length <= 12288 &&
           request.offset >= kDeviceBlockBytes && failures-- > 0;
  };
  for (uint64_t group = 10; group < 40; ++group) {
    (void)disk.tier->Put(DiskTrack("f"), DiskObject({group, 0}, std::string(20000, 'f')), 1,
                         disk.now);
    disk.RunDrained();
    disk.WaitDrained(1, seconds(2));
  }
  ASSERT_LT(failures, 1);
  EXPECT_FALSE(disk.tier->FindGroup(DiskTrack("a"), 0).has_value());
  ASSERT_TRUE(disk.handed_over.contains(0));
  EXPECT_EQ(disk.handed_over.at(0).objects.size(), 2u);
}

// That a group has gone is written down where something of it lies in other segments.
TEST(DiskTierDrain, AGroupThatWentDoesNotComeBackInPartBecauseAWriteFailed) {
  DrainedDisk disk;
  disk.Start();
  const TrackName track = DiskTrack("a");
  const auto fill = [&](uint64_t group) {
    (void)disk.tier->Put(DiskTrack("f"), DiskObject({group, 0}, std::string(20000, 'f')), 1,
                         disk.now);
    disk.RunDrained();
  };
  ASSERT_TRUE(disk.Put(track, DiskObject({0, 0}, std::string(5000, 'x'))).ok());
  uint64_t group = 0;
  while (disk.tier->segments().segments.size() < 3) {
    fill(group++);
  }
  ASSERT_TRUE(disk.Put(track, DiskObject({0, 1}, std::string(5000, 'y'))).ok());
  const uint32_t second = disk.tier->index().Find(track, {0, 1})->place.segment;
  ASSERT_GT(second, 1u);
  int failures = 1;
  disk.fails = [&](const DeviceRequest& request) {
    return request.kind == Kind::kWrite && !disk.tier->index().Find(track, {0, 1}) &&
           failures-- > 0;
  };
  while (disk.tier->segments().segments.contains(1)) {
    fill(group++);
  }
  ASSERT_LT(failures, 1);
  ASSERT_TRUE(disk.tier->segments().segments.contains(second));
  disk.fails = nullptr;
  disk.WaitDrained(3, seconds(2));
  disk.StartDrained();
  EXPECT_FALSE(disk.tier->index().Find(track, {0, 1}).has_value());
}

// A disk full of what may go, and a track whose groups come and are removed, as they do that
// expire.
class ExpiringDisk : public DiskTierFixture {
 public:
  explicit ExpiringDisk(const std::string& policy) : DiskTierFixture(24), policy_(policy) {
    StartExpiring();
    for (uint64_t group = 0; evicted.empty(); ++group) {
      EXPECT_TRUE(Put(DiskTrack("old" + std::to_string(group / 8)),
                      DiskObject({group % 8, 0}, std::string(6000, 'o')))
                      .ok());
    }
  }
  void StartExpiring() {
    device = device.AfterKill();
    ++options.seed;
    std::unique_ptr<DiskPolicy> policy = std::make_unique<OldestFirst>();
    if (policy_ != "oldest") {
      DiskEvictionOptions wanted;
      wanted.eviction = policy_;
      wanted.limits = {.bytes_max = options.bytes_max, .ghosts_max = 100};
      policy = *DiskEviction::Of(wanted);
    }
    tier = std::make_unique<DiskTier>(options, std::move(policy));
    Run();
  }
  // Puts that were not acknowledged.
  int PutAndRemove(uint64_t first, uint64_t count) {
    int refused = 0;
    for (uint64_t group = first; group < first + count; ++group) {
      const bool put = Put(DiskTrack("live"), DiskObject({group, 0}, std::string(500, 'v'))).ok();
      refused += put ? 0 : 1;
      if (group >= first + 5) {
        const auto removed = tier->Remove(DiskTrack("live"), group - 5, now);
        Run();
        refused += removed.ok() && Outcome(*removed).ok() ? 0 : 1;
      }
    }
    return refused;
  }

 private:
  std::string policy_;
};

// A removal is moved along as long as something older is here. So what is moved along has to be
// counted, or the segment that holds nothing else looks as if it were empty; and what is oldest has
// to go in the end, however well it is liked.
TEST(DiskTierDrain, RemovalsDoNotFillADiskForEver) {
  for (const char* policy : {"oldest", "default", "lru"}) {
    ExpiringDisk disk(policy);
    const uint64_t before = disk.tier->counts().segments_removed;
    EXPECT_EQ(disk.PutAndRemove(0, 4000), 0) << policy;
    // Each of them is synced alone and so takes a block: that is 500 segments, and some are moved.
    EXPECT_LT(disk.tier->counts().segments_removed - before, 1000u) << policy;
    EXPECT_EQ(disk.tier->counts().gave_up, 0u) << policy;
    disk.StartExpiring();
    EXPECT_EQ(disk.PutAndRemove(10'000, 300), 0) << policy;
    for (uint64_t group = 0; group < 300; ++group) {
      ASSERT_TRUE(disk.Put(DiskTrack("new"), DiskObject({group, 0}, std::string(6000, 'n'))).ok())
          << policy;
    }
    EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  }
}

// A file of another directory stays for ever. Nothing of it is ever read, so no removal is for it.
TEST(DiskTierDrain, RemovalsAreNotKeptForSegmentsOfAnotherDirectory) {
  ExpiringDisk other("oldest");
  ExpiringDisk disk("oldest");
  const uint32_t oldest = disk.tier->segments().segments.begin()->first;
  ASSERT_TRUE(disk.tier->segments().segments.contains(oldest + 2));
  std::vector<std::byte> foreign = other.device.contents(oldest + 2);
  disk.device.contents(oldest) = foreign;  // Its header says another number.
  disk.StartExpiring();
  ASSERT_EQ(disk.tier->segments().segments.at(oldest).state, SegmentState::kForeign);
  EXPECT_EQ(disk.PutAndRemove(0, 4000), 0);
  EXPECT_EQ(disk.tier->segments().segments.at(oldest).state, SegmentState::kForeign);
  uint64_t removals = 0;
  for (const auto& [number, segment] : disk.tier->segments().segments) {
    removals += disk.tier->segments().RemovalBytesOf(number);
  }
  EXPECT_LT(removals, disk.options.bytes_max / 8);
}

// Records of a byte come in blocks of 4096, and what is kept of each is more than a byte.
TEST(DiskTierDrain, AGroupThatIsHandedOverTakesNoMoreThanItMay) {
  DiskTierFixture disk(40);
  disk.options.read_bytes_max = 256 << 10;
  disk.Start();
  disk.tier->HandOverEvicted();
  constexpr uint64_t kTokens = 2000;
  for (uint64_t token = 0; token < kTokens; ++token) {
    ASSERT_TRUE(disk.tier->Put(DiskTrack("many"), DiskObject({0, token}, "x"), 1, disk.now).ok());
    if (token < 40) {
      ASSERT_TRUE(disk.tier->Put(DiskTrack("few"), DiskObject({1, token}, "y"), 1, disk.now).ok());
    }
  }
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("many"), {0, kTokens}, disk.now).ok());
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("few"), {1, 40}, disk.now).ok());
  disk.Run();
  for (uint64_t group = 10; disk.evicted.size() < 10; ++group) {
    ASSERT_TRUE(
        disk.tier
            ->Put(DiskTrack("fill"), DiskObject({group, 0}, std::string(9000, 'f')), 1, disk.now)
            .ok());
    do {
      // Who asks for something else is answered.
      if (disk.tier->index().Find(DiskTrack("fill"), {group - 1, 0})) {
        ASSERT_TRUE(disk.tier->Get(DiskTrack("fill"), {group - 1, 0}, disk.now).has_value());
        disk.Run();
      }
    } while (disk.Step());
  }
  EXPECT_FALSE(disk.handed_over.contains(0));
  ASSERT_TRUE(disk.handed_over.contains(1));
  const EvictedContents& few = disk.handed_over.at(1);
  EXPECT_LT(few.bytes, 40u * 1000);
  for (const StoredObject& stored : few.objects) {
    ASSERT_EQ(stored.object.payload.ToString(), "y");
  }
}

// The end of a group that was evicted is not carried from segment to segment for ever, and is not
// taken for a group by the next start.
TEST(DiskTierDrain, TheEndOfAnEvictedGroupGoesWithIt) {
  DiskTierFixture disk;
  disk.Start();
  const TrackName track = DiskTrack("a");
  const auto fill = [&](uint64_t group) {
    return disk.Put(DiskTrack("fill"), DiskObject({group, 0}, std::string(3000, 'f'))).ok();
  };
  ASSERT_TRUE(disk.Put(track, DiskObject({0, 0}, "first")).ok());
  uint64_t group = 0;
  while (disk.tier->segments().segments.size() < 2) {
    ASSERT_TRUE(fill(group++));
  }
  ASSERT_TRUE(disk.tier->EndGroup(track, {0, 1}, disk.now).ok());
  ASSERT_TRUE(disk.tier->EndGroup(track, {1, 0}, disk.now).ok());  // There is nothing in it.
  disk.Run();
  ASSERT_TRUE(disk.Put(track, DiskObject({2, 0}, "another")).ok());
  while (disk.tier->segments().segments.contains(1)) {
    ASSERT_TRUE(fill(group++));
  }
  ASSERT_FALSE(disk.tier->FindGroup(track, 0).has_value());
  for (int start = 0; start < 2; ++start) {
    disk.device = disk.device.AfterKill();
    disk.Start();
    EXPECT_FALSE(disk.tier->FindGroup(track, 0).has_value()) << start;
    EXPECT_TRUE(disk.tier->FindGroup(track, 1).has_value()) << start;
    const uint32_t last = disk.tier->segments().segments.rbegin()->first;
    while (disk.tier->segments().segments.begin()->first <= last) {
      ASSERT_TRUE(fill(group++));
    }
  }
}

}  // namespace
}  // namespace kvcast
