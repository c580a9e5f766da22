// What a disk tier does about objects that cannot be read while it runs, and about a disk that does
// not answer.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/store/disk_doubts.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const TrackName kDoubted = DiskTrack("a");

std::string DoubtedPayload(uint64_t group) {
  return std::string(9000, static_cast<char>('a' + group));
}

// A few groups of one object on a disk, the first of which cannot be read.
class DoubtedDisk : public DrainedDisk {
 public:
  static constexpr uint64_t kGroups = 4;

  DoubtedDisk() : DrainedDisk(12) {
    Start();
    for (uint64_t group = 0; group < kGroups; ++group) {
      EXPECT_TRUE(Put(kDoubted, DiskObject({group, 0}, DoubtedPayload(group))).ok());
    }
    Break();
  }
  DiskPlace PlaceOf(uint64_t group) const {
    return tier->index().Find(kDoubted, {group, 0})->place;
  }
  // In the middle of it, so that its neighbours can be read.
  void Break() {
    const DiskPlace place = PlaceOf(0);
    device.faults().bad_blocks = {{place.segment, BlocksDown(place.offset + 4500)}};
  }
  bool IsDoubted() const { return tier->Doubts(kDoubted, {{0, 0}, {0, 0}}); }
  void WaitSeconds(int count) {
    for (int second = 0; second < count; ++second) {
      Wait(seconds(1));
    }
  }
};

TEST(DiskTierDoubts, WhatCannotBeReadIsWrittenAgain) {
  DoubtedDisk disk;
  EXPECT_FALSE(disk.Get(kDoubted, {0, 0}).has_value());
  EXPECT_TRUE(disk.IsDoubted());
  const DiskPlace before = disk.PlaceOf(0);
  ASSERT_TRUE(disk.Put(kDoubted, DiskObject({0, 0}, DoubtedPayload(0))).ok());
  EXPECT_NE(disk.PlaceOf(0), before) << "it is acknowledged and was not written";
  EXPECT_FALSE(disk.IsDoubted());
  EXPECT_EQ(disk.Payload(kDoubted, {0, 0}), DoubtedPayload(0));
  const auto bad = disk.device.faults().bad_blocks;
  disk.device = disk.device.AfterKill();
  disk.device.faults().bad_blocks = bad;
  disk.Start();
  disk.WaitSeconds(30);
  EXPECT_EQ(disk.Payload(kDoubted, {0, 0}), DoubtedPayload(0));
}

TEST(DiskTierDoubts, WhatNeverComesIsGivenUpAndTold) {
  DoubtedDisk disk;
  EXPECT_FALSE(disk.Get(kDoubted, {0, 0}).has_value());
  EXPECT_TRUE(disk.evicted.empty()) << "it may come yet";
  disk.WaitSeconds(60);
  ASSERT_EQ(disk.evicted.size(), 1u);
  EXPECT_EQ(disk.evicted[0].group, 0u);
  EXPECT_EQ(disk.tier->PresenceOf(kDoubted, {0, 0}), Presence::kUnknown);
  EXPECT_EQ(disk.tier->counts().unreadable, 1u);
  EXPECT_EQ(disk.tier->deadline(), std::nullopt) << "nothing is looked at any more";
  for (uint64_t group = 1; group < DoubtedDisk::kGroups; ++group) {
    EXPECT_EQ(disk.Payload(kDoubted, {group, 0}), DoubtedPayload(group));
  }
  ASSERT_TRUE(disk.Put(kDoubted, DiskObject({0, 0}, DoubtedPayload(0))).ok());
  EXPECT_EQ(disk.Payload(kDoubted, {0, 0}), DoubtedPayload(0));
}

TEST(DiskTierDoubts, WhatComesBackCountsAgain) {
  DoubtedDisk disk;
  EXPECT_FALSE(disk.Get(kDoubted, {0, 0}).has_value());
  disk.WaitSeconds(5);
  EXPECT_TRUE(disk.IsDoubted());
  disk.device.faults().bad_blocks.clear();
  disk.WaitSeconds(60);
  EXPECT_FALSE(disk.IsDoubted());
  EXPECT_TRUE(disk.evicted.empty());
  const DiskPlace before = disk.PlaceOf(0);
  ASSERT_TRUE(disk.Put(kDoubted, DiskObject({0, 0}, DoubtedPayload(0))).ok());
  EXPECT_EQ(disk.PlaceOf(0), before) << "it is there, and need not be written";
}

// Whoever asks again and again does not make it go the sooner.
TEST(DiskTierDoubts, IsGivenUpByTimeAndNotByHowManyAsk) {
  DoubtedDisk disk;
  for (int ask = 0; ask < 100; ++ask) {
    EXPECT_FALSE(disk.Get(kDoubted, {0, 0}).has_value());
  }
  EXPECT_TRUE(disk.evicted.empty());
  EXPECT_EQ(disk.tier->PresenceOf(kDoubted, {0, 0}), Presence::kExists);
}

TEST(DiskTierDoubts, BeyondSoManyWhatCannotBeReadIsGivenUpAtOnce) {
  DiskDoubts doubts;
  const Instant now{std::chrono::hours(1)};
  for (uint64_t group = 0; group < DiskDoubts::kMax; ++group) {
    ASSERT_TRUE(doubts.Add({kDoubted, {group, 0}, {1, group * 8}}, now));
  }
  EXPECT_FALSE(doubts.Add({kDoubted, {DiskDoubts::kMax, 0}, {2, 0}}, now));
  EXPECT_GT(doubts.bytes(), DiskDoubts::kMax * sizeof(DiskDoubts::Doubt));
  for (uint64_t group = 0; group < DiskDoubts::kMax; ++group) {
    doubts.Lift({1, group * 8});
  }
  EXPECT_EQ(doubts.bytes(), 0u);
  EXPECT_EQ(doubts.deadline(), std::nullopt);
}

TEST(DiskTierDoubts, ADiskThatDoesNotAnswerIsAwayUntilItDoes) {
  DoubtedDisk disk;
  const auto asked = disk.tier->Get(kDoubted, {1, 0}, disk.now);
  ASSERT_TRUE(asked.has_value());
  const auto put = disk.tier->Put(kDoubted, DiskObject({9, 0}, "v"), 1, disk.now);
  ASSERT_TRUE(put.ok());
  disk.device.faults().hangs = true;
  disk.Run();
  EXPECT_FALSE(disk.reads.contains(*asked));
  ASSERT_TRUE(disk.tier->deadline().has_value());
  disk.now = *disk.tier->deadline();
  disk.tier->OnTime(disk.now);
  disk.Run();
  EXPECT_TRUE(disk.tier->away());
  ASSERT_TRUE(disk.reads.contains(*asked)) << "whoever waits is told that it is not to be had";
  EXPECT_FALSE(disk.reads.at(*asked).has_value());
  EXPECT_FALSE(disk.Get(kDoubted, {2, 0}).has_value()) << "at once";
  EXPECT_EQ(disk.tier->Put(kDoubted, DiskObject({8, 0}, "v"), 1, disk.now).error().code(),
            ErrorCode::kMachine);
  EXPECT_EQ(disk.tier->PresenceOf(kDoubted, {2, 0}), Presence::kExists);
  disk.Wait(minutes(10));
  EXPECT_TRUE(disk.tier->away());
  disk.device.faults().hangs = false;
  disk.Run();
  EXPECT_FALSE(disk.tier->away());
  EXPECT_TRUE(disk.written.contains(*put));
  EXPECT_EQ(disk.Payload(kDoubted, {2, 0}), DoubtedPayload(2));
  EXPECT_TRUE(disk.evicted.empty());
}

// What one part of a disk takes long for is no reason to go without the rest.
TEST(DiskTierDoubts, ADiskThatIsSlowIsNotAway) {
  DoubtedDisk disk;
  disk.keeps_back = [&](const DeviceRequest&) { return disk.kept.empty(); };
  const auto slow = disk.tier->Get(kDoubted, {1, 0}, disk.now);
  disk.RunDrained();
  for (uint64_t second = 0; second < 60; ++second) {
    disk.now += seconds(1);
    const auto asked = disk.tier->Get(kDoubted, {1 + second % 3, 0}, disk.now);
    ASSERT_TRUE(asked.has_value());
    disk.tier->OnTime(disk.now);
    EXPECT_FALSE(disk.tier->away()) << second;
    disk.RunDrained();
    EXPECT_TRUE(disk.reads.at(*asked).has_value());
  }
  EXPECT_FALSE(disk.reads.contains(*slow));
  disk.LetGo();
  EXPECT_TRUE(disk.reads.at(*slow).has_value());
}

}  // namespace
}  // namespace kvcast
