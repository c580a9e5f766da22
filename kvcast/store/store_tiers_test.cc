// A store with a disk and a bucket below, on a device and a bucket in memory: what goes where, and
// what an outage does to the whole.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kvcast/store/tiered_store_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// From memory to the disk, and from there to the bucket: nothing is lost on the
// way, and a node that has the bucket alone finds what came there.
TEST(StoreTiers, WhatADiskEvictsGoesToTheBucket) {
  TieredStore tiered(/*segments=*/6);
  const uint64_t groups = 60;
  for (uint64_t group = 0; group < groups; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kMemory).ok());
    tiered.Wait(seconds(2));
  }
  EXPECT_GT(tiered.disk->counts().segments_removed, 0u);
  EXPECT_GT(tiered.remote->index().object_count(), 0u);
  EXPECT_EQ(tiered.store->counts().not_demoted, 0u);
  EXPECT_EQ(tiered.Readable(groups), groups * kGroupObjects);

  BucketNode fresh(tiered.bucket, 2);
  fresh.Start();
  const auto listed = fresh.tier->Groups(std::nullopt, 1000);
  EXPECT_GT(listed.size(), 0u);
  for (const ListedGroup& group : listed) {
    EXPECT_TRUE(group.facts.whole()) << group.group;
    EXPECT_EQ(fresh.Payload(kBucketTrack, {group.group, 1}), TieredPayload({group.group, 1}));
    EXPECT_EQ(fresh.Get(kBucketTrack, {group.group, 1})->received_us,
              uint64_t{4'600'000'000} + 2'000'000 * group.group);
  }
}

// A bucket that several share may have it already.
TEST(StoreTiers, WhatTheBucketHasIsNotPutThereAgain) {
  TieredStore tiered(/*segments=*/6);
  for (uint64_t group = 0; group < 60; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kDisk).ok());
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kBucket).ok());
    tiered.Wait(seconds(2));
  }
  EXPECT_GT(tiered.disk->counts().segments_removed, 0u);
  EXPECT_EQ(tiered.store->counts().demoted, 0u);
}

// What the network, the server or the way there may do.
struct Outage {
  const char* name;
  BucketFaults faults;
};
class StoreOutage : public testing::TestWithParam<Outage> {
 protected:
  // Group 0 is in the bucket alone, those from 1 to 8 are on the disk, 9 is in memory as well.
  void Fill() {
    ASSERT_TRUE(tiered_.PutGroup(0, Durability::kBucket).ok());
    tiered_.Wait(seconds(2));
    for (uint64_t group = 1; group < 10; ++group) {
      ASSERT_TRUE(tiered_.PutGroup(group, Durability::kDisk).ok());
      tiered_.Run();
    }
    ASSERT_EQ(tiered_.store->ram().Look(kBucketTrack, {0, 0}), nullptr);
    ASSERT_EQ(tiered_.store->ram().Look(kBucketTrack, {1, 0}), nullptr);
    ASSERT_NE(tiered_.store->ram().Look(kBucketTrack, {9, 0}), nullptr);
  }
  // A hit in memory, a hit on disk and a durable put on disk, without waiting.
  void GoOn(uint64_t turn) {
    EXPECT_TRUE(tiered_.PayloadNow({9, 0}) == TieredPayload({9, 0}));
    EXPECT_TRUE(tiered_.PayloadNow({1 + turn % 8, 1}) == TieredPayload({1 + turn % 8, 1}));
    const auto on_disk = tiered_.PutGroup(100 + turn, Durability::kDisk);
    ASSERT_TRUE(on_disk.ok()) << on_disk.error().ToString();
    tiered_.Run();
    for (const StoreTicket ticket : *on_disk) {
      ASSERT_TRUE(tiered_.written.contains(ticket));
      EXPECT_FALSE(tiered_.written.at(ticket).error.has_value());
    }
  }
  void MissInTime(uint64_t turn) {
    const Store::Got got = tiered_.store->Get(kBucketTrack, {0, turn % 2}, tiered_.now);
    if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
      const StoreTicket asked = *ticket;
      tiered_.Run();
      tiered_.Wait(milliseconds(200));
      ASSERT_TRUE(tiered_.reads.contains(asked)) << turn;
    }
  }
  // What is to be in the bucket queues, and is refused beyond a bound.
  void Queue(uint64_t group) {
    const auto waits = tiered_.PutGroup(group, Durability::kBucket);
    if (waits.ok()) {
      pledged_[group] = *waits;
    } else {
      EXPECT_EQ(waits.error().code(), ErrorCode::kTooLarge) << waits.error().ToString();
      ++refused_;
    }
    EXPECT_LE(tiered_.remote->queued_bytes(), (200u << 10) + 20'000u);
  }
  // All that was taken has come to an end, one way or the other, and who was told that it is there
  // is right. Returns how many groups that are.
  size_t CheckAcknowledged() {
    BucketNode fresh(tiered_.bucket, 2);
    fresh.Start();
    size_t reached = 0;
    for (const auto& [group, tickets] : pledged_) {
      bool acknowledged = true;
      for (const StoreTicket ticket : tickets) {
        EXPECT_TRUE(tiered_.written.contains(ticket));
        const StoreWritten& written = tiered_.written.at(ticket);
        acknowledged = acknowledged && !written.error;
        EXPECT_TRUE(written.error || written.level == Durability::kBucket);
      }
      if (acknowledged) {
        ++reached;
        const auto facts = fresh.tier->FindGroup(kBucketTrack, group);
        EXPECT_TRUE(facts && facts->whole()) << group;
        EXPECT_TRUE(fresh.Payload(kBucketTrack, {group, 1}) == TieredPayload({group, 1}));
      }
    }
    return reached;
  }

  TieredStore tiered_{/*segments=*/64};
  std::map<uint64_t, std::vector<StoreTicket>> pledged_;
  size_t refused_ = 0;
};

TEST_P(StoreOutage, HitsGoOnMissesComeInTimeAndNothingAcknowledgedIsLost) {
  Fill();
  tiered_.bucket.faults() = GetParam().faults;
  for (uint64_t turn = 0; turn < 40; ++turn) {
    GoOn(turn);
    MissInTime(turn);
    Queue(200 + turn);
    tiered_.Wait(milliseconds(300));
  }
  EXPECT_GT(refused_, 0u);
  tiered_.bucket.faults() = {};
  tiered_.Wait(std::chrono::minutes(3));
  EXPECT_GT(CheckAcknowledged(), 0u);
  EXPECT_TRUE(tiered_.PayloadNow({0, 1}) == TieredPayload({0, 1}));  // It is back.
}

INSTANTIATE_TEST_SUITE_P(All, StoreOutage,
                         testing::Values(Outage{"refused", {.refuse = 1}},
                                         Outage{"throttled", {.throttle = 1}},
                                         Outage{"hanging", {.dead = true}},
                                         Outage{"failing", {.other = 1}},
                                         Outage{"lost", {.lost_reply = 1}}),
                         [](const auto& outage) { return std::string(outage.param.name); });

// What waits for a bucket that is out, pledged or evicted, must not keep anything from a disk.
TEST(StoreTiers, ABucketThatIsOutDoesNotKeepMemoryFromTheDisk) {
  TieredStore tiered(/*segments=*/8);
  tiered.bucket.faults().dead = true;
  while (tiered.PutGroup(1000 + tiered.remote->queued_bytes(), Durability::kBucket).ok()) {
    tiered.Run();
  }
  EXPECT_EQ(tiered.store->pledged_bytes(Durability::kDisk), 0u);
  EXPECT_GT(tiered.store->pledged_bytes(Durability::kBucket), 0u);
  for (uint64_t group = 0; group < 60; ++group) {
    ASSERT_TRUE(tiered.PutGroup(group, Durability::kMemory).ok());
    tiered.Run();
  }
  EXPECT_GT(tiered.disk->counts().segments_removed, 0u);
  EXPECT_LE(tiered.store->demoting_bytes(), 2 * kTieredDemotingBytes);
  for (uint64_t group = 50; group < 60; ++group) {  // The last of them are in memory or on disk.
    EXPECT_TRUE(tiered.PayloadNow({group, 0}) == TieredPayload({group, 0})) << group;
  }
}

}  // namespace
}  // namespace kvcast
