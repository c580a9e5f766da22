// What a disk tier does about segments and superblocks that cannot be read when it starts.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string UnreadPayload(uint64_t group) {
  return std::string(9000, static_cast<char>('a' + group % 26));
}

// A directory with objects in several sealed segments, and one that is being written.
class UnreadDisk : public DiskTierFixture {
 public:
  explicit UnreadDisk(uint64_t segments = 20) : DiskTierFixture(segments) {
    Start();
    for (uint64_t group = 0; group < kGroups; ++group) {
      EXPECT_TRUE(Put(DiskTrack("a"), DiskObject({group, 0}, UnreadPayload(group))).ok());
    }
  }
  std::set<uint64_t> GroupsIn(uint32_t segment) const {
    std::set<uint64_t> groups;
    for (uint64_t group = 0; group < kGroups; ++group) {
      const auto found = tier->index().Find(DiskTrack("a"), {group, 0});
      if (found && found->place.segment == segment) {
        groups.insert(group);
      }
    }
    return groups;
  }
  // The one that is being written.
  uint32_t Newest() const {
    return tier->index().Find(DiskTrack("a"), {kGroups - 1, 0})->place.segment;
  }
  // Starts with a segment of which so many reads fail.
  void StartWithout(DeviceFile file, uint64_t failing) {
    device = device.AfterKill();
    device.faults().unreadable = file;
    device.faults().unreadable_reads = failing;
    Start();
  }
  void ExpectAll(const std::set<uint64_t>& groups) {
    for (const uint64_t group : groups) {
      EXPECT_EQ(Payload(DiskTrack("a"), {group, 0}), UnreadPayload(group)) << group;
    }
  }
  bool HasFile(uint32_t segment) const {
    return std::ranges::any_of(device.List(),
                               [&](const auto& one) { return one.number == segment; });
  }

  static constexpr uint64_t kGroups = 40;
};

TEST(DiskTierUnread, AStartWaitsForWhatCannotBeReadJustNow) {
  for (const uint64_t reads : {1u, 2u, 3u, 4u, 8u}) {
    UnreadDisk disk;
    const std::set<uint64_t> groups = disk.GroupsIn(3);
    ASSERT_GT(groups.size(), 3u);
    disk.StartWithout(3, reads);
    for (int second = 0; second < 10; ++second) {
      disk.Wait(seconds(1));
    }
    ASSERT_TRUE(disk.tier->ready());
    EXPECT_EQ(disk.tier->unread_segments(), 0u);
    disk.ExpectAll(groups);
  }
}

TEST(DiskTierUnread, WhatComesBackLateIsThereAgain) {
  for (const bool newest : {false, true}) {
    UnreadDisk disk;
    const uint32_t segment = newest ? disk.Newest() : 3;
    const std::set<uint64_t> groups = disk.GroupsIn(segment);
    ASSERT_FALSE(groups.empty());
    disk.StartWithout(segment, UINT64_MAX);
    for (int second = 0; second < 10; ++second) {
      disk.Wait(seconds(1));
    }
    ASSERT_TRUE(disk.tier->ready());
    EXPECT_EQ(disk.tier->unread_segments(), 1u);
    EXPECT_GT(disk.tier->counts().read_errors, 0u);
    EXPECT_FALSE(disk.Get(DiskTrack("a"), {*groups.begin(), 0}).has_value());
    disk.device.faults().unreadable_reads = 0;
    for (int minute = 0; minute < 30; ++minute) {
      disk.Wait(minutes(1));
    }
    EXPECT_EQ(disk.tier->unread_segments(), 0u);
    disk.ExpectAll(groups);
    EXPECT_TRUE(disk.evicted.empty());
    disk.device = disk.device.AfterKill();
    disk.Start();
    disk.ExpectAll(groups);
  }
}

// Room is not worth what nobody has seen.
TEST(DiskTierUnread, IsNobodysRoom) {
  UnreadDisk disk(12);
  const std::set<uint64_t> groups = disk.GroupsIn(3);
  disk.StartWithout(3, UINT64_MAX);
  for (int second = 0; second < 10; ++second) {
    disk.Wait(seconds(1));
  }
  for (uint64_t group = 1000; group < 1200; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, UnreadPayload(group))).ok());
    disk.Wait(seconds(1));
  }
  EXPECT_GT(disk.tier->counts().segments_removed, 5u);
  ASSERT_TRUE(disk.HasFile(3));
  EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  disk.device = disk.device.AfterKill();
  disk.Start();
  disk.ExpectAll(groups);
}

TEST(DiskTierUnread, WhatWasRemovedDoesNotComeBackLate) {
  UnreadDisk disk;
  const std::set<uint64_t> groups = disk.GroupsIn(3);
  const uint64_t before = *groups.begin();
  const uint64_t after = *std::next(groups.begin());
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("a"), before, disk.now).ok());
  disk.Run();
  disk.StartWithout(3, UINT64_MAX);
  for (int second = 0; second < 10; ++second) {
    disk.Wait(seconds(1));
  }
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("a"), after, disk.now).ok());
  disk.Run();
  disk.device.faults().unreadable_reads = 0;
  for (int start = 0; start < 2; ++start) {
    for (int minute = 0; minute < 30; ++minute) {
      disk.Wait(minutes(1));
    }
    EXPECT_EQ(disk.tier->unread_segments(), 0u);
    EXPECT_FALSE(disk.Get(DiskTrack("a"), {before, 0}).has_value());
    EXPECT_FALSE(disk.Get(DiskTrack("a"), {after, 0}).has_value());
    EXPECT_TRUE(disk.Get(DiskTrack("a"), {*groups.rbegin(), 0}).has_value());
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

// A removal that nobody can read just now may hold of what lies before it: a copy of that is no
// promise.
TEST(DiskTierUnread, WhatMayHaveBeenRemovedIsWrittenAgain) {
  UnreadDisk disk;
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("a"), 0, disk.now).ok());
  disk.Run();
  disk.StartWithout(disk.Newest(), UINT64_MAX);
  for (int second = 0; second < 10; ++second) {
    disk.Wait(seconds(1));
  }
  ASSERT_EQ(disk.tier->unread_segments(), 1u);
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, UnreadPayload(0))).ok());
  disk.device = disk.device.AfterKill();
  disk.Start();
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), UnreadPayload(0));
}

// One bad block in a segment without a footer costs what lies in that block.
TEST(DiskTierUnread, ABadBlockCostsWhatLiesInIt) {
  UnreadDisk disk;
  const uint32_t segment = disk.Newest();
  const std::set<uint64_t> groups = disk.GroupsIn(segment);
  ASSERT_GT(groups.size(), 1u);
  const uint64_t lost = *groups.begin();
  const uint64_t bad =
      BlocksDown(disk.tier->index().Find(DiskTrack("a"), {lost, 0})->place.offset + 4096);
  disk.device = disk.device.AfterKill();
  ++disk.options.seed;
  disk.tier = std::make_unique<DiskTier>(disk.options, std::make_unique<OldestFirst>());
  for (int second = 0; second < 20; ++second) {
    for (bool more = true; more;) {
      more = false;
      for (DeviceRequest& request : disk.tier->TakeRequests()) {
        more = true;
        if (request.kind == DeviceRequest::Kind::kRead && request.file == segment &&
            request.offset <= bad && bad < request.offset + request.length) {
          disk.tier->OnCompletion({.token = request.token, .error = DeviceError{false, "bad"}},
                                  disk.now);
        } else {
          disk.device.Submit(std::move(request));
        }
      }
      more = disk.Step() || more;
    }
    disk.now += seconds(1);
    disk.tier->OnTime(disk.now);
  }
  ASSERT_TRUE(disk.tier->ready());
  for (const uint64_t group : groups) {
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {group, 0}) == Presence::kExists,
              group != lost);
  }
  EXPECT_TRUE(disk.HasFile(segment));
}

TEST(DiskTierUnread, OneCopyOfTheSuperblockIsEnoughAndASegmentWillDo) {
  for (const uint64_t reads : {uint64_t{1}, UINT64_MAX}) {
    UnreadDisk disk;
    disk.options.fresh.bytes.fill(std::byte{0x11});
    const std::vector<std::byte> before = disk.device.contents(kSuperblockFile);
    disk.device = disk.device.AfterKill();
    disk.StartWithout(kSuperblockFile, reads);
    ASSERT_TRUE(disk.tier->ready());
    EXPECT_EQ(disk.device.contents(kSuperblockFile), before);
    EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), UnreadPayload(0));
  }
}

// What is removed has to be remembered for a segment that nobody can read, in memory and on the
// disk: not for ever.
TEST(DiskTierUnread, IsGivenUpWhenItCostsTooMuch) {
  for (const bool memory : {true, false}) {
    UnreadDisk disk(memory ? 400 : 24);
    disk.options.index_bytes_max = memory ? 300'000 : SIZE_MAX;
    disk.StartWithout(3, UINT64_MAX);
    for (int second = 0; second < 10; ++second) {
      disk.Wait(seconds(1));
    }
    ASSERT_EQ(disk.tier->unread_segments(), 1u);
    int refused = 0;
    for (uint64_t number = 0; number < 6000; ++number) {
      const TrackName track = DiskTrack("t" + std::to_string(number));
      refused += disk.Put(track, DiskObject({0, 0}, "v")).ok() ? 0 : 1;
      refused += disk.tier->Remove(track, std::nullopt, disk.now).ok() ? 0 : 1;
      disk.Wait(std::chrono::milliseconds(20));
      if (memory) {
        ASSERT_LT(disk.tier->index_bytes(), 300'000u / 2) << number;
      }
    }
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(disk.tier->unread_segments(), 0u);
    EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  }
}

// They are made one after another, so that one with others behind it was more than that once.
TEST(DiskTierUnread, ASegmentOfWhichNothingIsLeftIsNoticed) {
  DiskTierFixture disk(16);
  disk.Start();
  for (uint64_t group = 0; group < 12; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, std::string(9000, 'x'))).ok());
  }
  ASSERT_GT(disk.tier->segments().segments.size(), 1u);
  const DeviceFile last = disk.tier->segments().segments.rbegin()->first;
  MemoryDevice first_cut = disk.device.AfterKill();
  first_cut.contents(1).clear();
  MemoryDevice last_cut = disk.device.AfterKill();
  last_cut.contents(last).clear();
  disk.device = std::move(first_cut);
  disk.Start();
  ASSERT_TRUE(disk.tier->ready());
  EXPECT_EQ(disk.tier->counts().damaged, 1u);
  EXPECT_TRUE(disk.Payload(DiskTrack("a"), {11, 0}).has_value());
  disk.device = std::move(last_cut);
  disk.Start();
  EXPECT_EQ(disk.tier->counts().damaged, 0u) << "a crash may have ended its making";
}

}  // namespace
}  // namespace kvcast
