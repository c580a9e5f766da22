#include "kvcast/store/owed_facts.h"

#include <gtest/gtest.h>

#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using About = OwedFacts::About;
using std::chrono::seconds;

const TrackName kOwedTrack = DiskTrack("dated");

TrackFacts DatedFacts() {
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(4, 60000).Build();
  facts.largest = Location{3, 0};
  facts.end = Location{9, 0};
  facts.gaps = {{{4, 0}, {4, 7}}};
  return facts;
}

TEST(OwedFacts, OnlyTheLastRecordOfEachCounts) {
  OwedFacts owed;
  owed.OnAsked(kOwedTrack, std::nullopt, 1);
  owed.OnAsked(kOwedTrack, std::nullopt, 2);
  owed.OnSettled(kOwedTrack, std::nullopt, 1, false);
  EXPECT_FALSE(owed.Owes(kOwedTrack, std::nullopt)) << "the second says it too";
  owed.OnSettled(kOwedTrack, std::nullopt, 2, false);
  EXPECT_TRUE(owed.Owes(kOwedTrack, std::nullopt));
  owed.OnAsked(kOwedTrack, About(7), 3);
  owed.OnSettled(kOwedTrack, About(7), 3, false);
  EXPECT_EQ(owed.Of(kOwedTrack), (std::vector<About>{std::nullopt, 7}));
  EXPECT_EQ(owed.Tracks(), std::vector<TrackName>{kOwedTrack});
  owed.OnAsked(kOwedTrack, std::nullopt, 4);
  EXPECT_FALSE(owed.Owes(kOwedTrack, std::nullopt)) << "it is under way";
  owed.OnSettled(kOwedTrack, std::nullopt, 4, true);
  EXPECT_EQ(owed.Of(kOwedTrack), std::vector<About>{About(7)});
  owed.Forget(kOwedTrack, std::nullopt);
  EXPECT_TRUE(owed.empty());
}

// A write, then its sync: that one fails.
Result<void> FailOnce(DiskTierFixture& disk, const Result<TierTicket>& ticket) {
  disk.device.faults().fail_at = disk.device.request_count() + 2;
  disk.Run();
  return disk.Outcome(*ticket);
}

TEST(OwedFacts, ADiskWritesThemAgainWithTheNextWriteOfTheirTrack) {
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("other"), DiskObject({0, 0}, "first")).ok());
  ASSERT_FALSE(FailOnce(disk, disk.tier->Describe(kOwedTrack, DatedFacts(), disk.now)).ok());
  ASSERT_NE(disk.tier->FindTrack(kOwedTrack), nullptr) << "they may be read at once";
  EXPECT_FALSE(disk.tier->Covers(kOwedTrack, DatedFacts())) << "they are not durable";
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({2, 0}, "kv")).ok());
  EXPECT_TRUE(disk.tier->Covers(kOwedTrack, DatedFacts()));
  Random random(3);
  disk.device = disk.device.AfterPowerCut(random);
  disk.Start();
  ASSERT_NE(disk.tier->FindTrack(kOwedTrack), nullptr);
  EXPECT_EQ(*disk.tier->FindTrack(kOwedTrack), DatedFacts());
}

TEST(OwedFacts, ADiskThatIsStoppedCleanlyWritesThem) {
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({2, 0}, "kv")).ok());
  ASSERT_FALSE(FailOnce(disk, disk.tier->EndGroup(kOwedTrack, {2, 1}, disk.now)).ok());
  ASSERT_FALSE(FailOnce(disk, disk.tier->Describe(kOwedTrack, DatedFacts(), disk.now)).ok());
  disk.tier->Seal(disk.now);
  disk.Run();
  disk.Start();
  EXPECT_EQ(*disk.tier->FindTrack(kOwedTrack), DatedFacts());
  EXPECT_TRUE(disk.tier->FindGroup(kOwedTrack, 2)->whole());
}

// Of a track that has ended nothing else is written, and nobody stops a node that dies.
TEST(OwedFacts, ADiskWritesThemWhenItIsAskedTo) {
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({2, 0}, "kv")).ok());
  EXPECT_FALSE(disk.tier->HasOwed());
  ASSERT_FALSE(FailOnce(disk, disk.tier->Describe(kOwedTrack, DatedFacts(), disk.now)).ok());
  EXPECT_TRUE(disk.tier->HasOwed());
  disk.tier->PayAllOwed(disk.now);
  disk.Run();
  EXPECT_FALSE(disk.tier->HasOwed());
  Random random(3);
  disk.device = disk.device.AfterPowerCut(random);
  disk.Start();
  EXPECT_EQ(*disk.tier->FindTrack(kOwedTrack), DatedFacts());
}

TEST(OwedFacts, TheEndOfAGroupThatNeverCameIsForgotten) {
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({2, 0}, "kv")).ok());
  ASSERT_FALSE(FailOnce(disk, disk.tier->EndGroup(kOwedTrack, {3, 1}, disk.now)).ok());
  EXPECT_EQ(disk.tier->GroupFrom(kOwedTrack, 3), std::nullopt);
}

TEST(OwedFacts, WhatIsRemovedIsNotOwed) {
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({2, 0}, "kv")).ok());
  ASSERT_FALSE(FailOnce(disk, disk.tier->Describe(kOwedTrack, DatedFacts(), disk.now)).ok());
  ASSERT_TRUE(disk.tier->Remove(kOwedTrack, std::nullopt, disk.now).ok());
  disk.Run();
  disk.tier->Seal(disk.now);
  disk.Run();
  disk.Start();
  EXPECT_EQ(disk.tier->FindTrack(kOwedTrack), nullptr);
}

// Gaps that overlap, and one that an object stands in all the same, are counted once or not.
TEST(TrackFacts, CountsWhatDoesNotExistInAGroup) {
  TrackFacts facts;
  facts.gaps = {{{4, 2}, {4, 5}}, {{4, 4}, {4, 7}}, {{4, 20}, {6, 3}}, LocationRange::Groups(8, 8)};
  const auto none = [](uint64_t, uint64_t) { return uint64_t{0}; };
  EXPECT_EQ(facts.AbsentIn(4, 10, none), 6u);
  EXPECT_EQ(facts.AbsentIn(4, 5, none), 3u);
  EXPECT_EQ(facts.AbsentIn(4, 30, none), 16u);
  EXPECT_EQ(facts.AbsentIn(5, 7, none), 7u);
  EXPECT_EQ(facts.AbsentIn(6, 10, none), 4u);
  EXPECT_EQ(facts.AbsentIn(7, 10, none), 0u);
  EXPECT_EQ(facts.AbsentIn(8, 3, none), 3u);
  EXPECT_EQ(facts.AbsentIn(4, 0, none), 0u);
  const auto three = [](uint64_t first, uint64_t last) {
    return uint64_t{first <= 3 && last >= 3 ? 1u : 0u};
  };
  EXPECT_EQ(facts.AbsentIn(4, 10, three), 5u);
}

TEST(OwedFacts, AGroupWithGapsIsWholeOnDiskAndInABucketAfterAStart) {
  TrackFacts facts;
  facts.gaps = {{{0, 1}, {0, 1}}};
  DiskTierFixture disk(16);
  disk.Start();
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(disk.Put(kOwedTrack, DiskObject({0, 2}, "kv")).ok());
  ASSERT_TRUE(disk.tier->EndGroup(kOwedTrack, {0, 3}, disk.now).ok());
  EXPECT_FALSE(disk.tier->FindGroup(kOwedTrack, 0)->whole());
  ASSERT_TRUE(disk.tier->Describe(kOwedTrack, facts, disk.now).ok());
  disk.Run();
  disk.Start();
  EXPECT_TRUE(disk.tier->FindGroup(kOwedTrack, 0)->whole());
  EXPECT_TRUE(disk.tier->Groups(std::nullopt, 10).at(0).facts.whole());

  MemoryBucket bucket(1);
  BucketNode node(bucket);
  BucketNode other(bucket, 2);
  node.Start();
  other.Start();
  ASSERT_TRUE(node.Put(kOwedTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(node.Put(kOwedTrack, BucketObject({0, 2}, "kv")).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kOwedTrack, {0, 3}, node.now)).ok());
  other.Wait(std::chrono::minutes(2));
  EXPECT_TRUE(other.arrived.empty());
  ASSERT_TRUE(node.Settle(node.tier->Describe(kOwedTrack, facts, node.now)).ok());
  other.Wait(std::chrono::minutes(2));
  ASSERT_EQ(other.arrived.size(), 1u) << "the gap makes it whole";
  EXPECT_TRUE(other.arrived[0].facts.whole());
}

TEST(OwedFacts, ABucketWritesThemAgainAfterAnOutage) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kOwedTrack, BucketObject({2, 0}, "kv")).ok());
  bucket.faults().refuse = 1;
  ASSERT_FALSE(node.Settle(node.tier->Describe(kOwedTrack, DatedFacts(), node.now)).ok());
  EXPECT_FALSE(node.tier->Covers(kOwedTrack, DatedFacts()));
  ASSERT_FALSE(node.Settle(node.tier->EndGroup(kOwedTrack, {2, 1}, node.now)).ok());
  bucket.faults().refuse = 0;
  node.Wait(seconds(2));
  ASSERT_TRUE(node.Put(kOwedTrack, BucketObject({3, 0}, "kv")).ok());
  BucketNode fresh(bucket, 2);
  fresh.Start();
  ASSERT_NE(fresh.tier->FindTrack(kOwedTrack), nullptr);
  EXPECT_EQ(*fresh.tier->FindTrack(kOwedTrack), DatedFacts());
  EXPECT_TRUE(fresh.tier->FindGroup(kOwedTrack, 2)->whole());
}

}  // namespace
}  // namespace kvcast
