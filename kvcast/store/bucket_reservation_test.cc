// What a tenant has reserved of a bucket stays while others put what they like.
#include <gtest/gtest.h>

#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

constexpr uint64_t kPackBytes = BucketNode::kPackBytes;

TrackName TenantsTrack(const std::string& tenant, std::string_view name = "BF16") {
  return *TrackName::Of(*TrackNamespace::Of({"service", tenant + "/model", "prefix"}), name);
}

const TrackName kAcme = TenantsTrack("acme");
const TrackName kOther = TenantsTrack("other");

class BucketReservation : public testing::Test {
 protected:
  void Start() {
    node_.options.bytes_max = 10 * kPackBytes;
    node_.options.reservations = {{"acme", 3 * kPackBytes}};
    node_.Start();
  }
  // A pack each, nearly.
  Result<void> PutPack(const TrackName& track, uint64_t group) {
    const Object object = BucketObject({group, 0}, std::string(50'000, 'x'));
    return node_.Settle(node_.tier->Put(track, object, ++received_us_, node_.now));
  }
  void PutPacks(const TrackName& track, uint64_t first, uint64_t last) {
    for (uint64_t group = first; group < last; ++group) {
      const auto put = PutPack(track, group);
      ASSERT_TRUE(put.ok()) << group << ": " << put.error().ToString();
      ASSERT_LE(bucket_.bytes(), node_.options.bytes_max);
    }
  }
  uint64_t Left(const TrackName& track, uint64_t last) {
    uint64_t left = 0;
    for (uint64_t group = 0; group < last; ++group) {
      left += node_.Payload(track, {group, 0}) ? 1u : 0u;
    }
    return left;
  }

  MemoryBucket bucket_{1};
  BucketNode node_{bucket_};
  uint64_t received_us_ = 1000;
};

TEST_F(BucketReservation, OthersDoNotEvictWhatIsReserved) {
  Start();
  PutPacks(kAcme, 0, 3);
  PutPacks(kOther, 0, 40);
  EXPECT_EQ(Left(kAcme, 3), 3u);
  EXPECT_GT(node_.tier->counts().packs_removed, 10u);
  for (const EvictedGroup& gone : node_.evicted) {
    EXPECT_EQ(gone.track, kOther);
  }
}

TEST_F(BucketReservation, HoldsAfterARestart) {
  Start();
  PutPacks(kAcme, 0, 3);
  node_.Start();
  PutPacks(kOther, 0, 40);
  node_.Start();
  PutPacks(kOther, 40, 60);
  EXPECT_EQ(Left(kAcme, 3), 3u);
}

// What several put in the same second does not come into one pack.
TEST_F(BucketReservation, HoldsForWhatIsPutAtTheSameTimeAsOthers) {
  Start();
  for (uint64_t group = 0; group < 40; ++group) {
    const uint64_t mine = group % 20;  // Half of it for the second time.
    const Object small = BucketObject({mine, 0}, std::string(2'000, 'y'));
    ASSERT_TRUE(node_.tier->Put(kAcme, small, 17, node_.now).ok());
    ASSERT_TRUE(PutPack(kOther, group).ok());
  }
  EXPECT_EQ(Left(kAcme, 20), 20u);
}

TEST_F(BucketReservation, WhatIsBeyondItGoesAndATenantPressesItsOwn) {
  Start();
  PutPacks(kAcme, 0, 40);  // It has all there is,
  EXPECT_GT(Left(kAcme, 40), 6u);
  PutPacks(kOther, 0, 40);  // and gives back what it has not reserved.
  EXPECT_GE(Left(kAcme, 40), 3u);
  EXPECT_LE(Left(kAcme, 40), 5u);
  EXPECT_GE(Left(kOther, 40), 3u);
}

// A pack with removals stays while there is something that it removes, which is not among packs of
// others: those may stay for ever.
TEST_F(BucketReservation, RemovalsOfOthersDoNotStayForItsSake) {
  Start();
  PutPacks(kAcme, 0, 3);
  for (uint64_t group = 0; group < 40; ++group) {
    ASSERT_TRUE(node_.tier->Remove(kOther, 1000 + group, node_.now).ok());
    ASSERT_TRUE(PutPack(kOther, group).ok()) << group;
  }
  EXPECT_EQ(Left(kAcme, 3), 3u);
}

TEST_F(BucketReservation, AFullIndexForgetsWhatIsOthers) {
  Start();
  PutPacks(kAcme, 0, 3);
  node_.options.bytes_max = 0;
  node_.options.index_bytes_max = 4 * node_.tier->index_bytes();
  node_.Start();
  for (uint64_t group = 0; group < 300; ++group) {
    const TrackName track = TenantsTrack("other", "BF16;l=" + std::to_string(group));
    (void)node_.Put(track, BucketObject({group, 0}, "kv"));
  }
  EXPECT_GT(node_.tier->counts().forgotten, 10u);
  EXPECT_EQ(Left(kAcme, 3), 3u);
}

TEST(PackOwner, OfSeveralPoolsItIsTheCommonOnes) {
  PackOwner owner;
  owner.Add(2, false);
  EXPECT_EQ(owner.pool, 2u);
  owner.Add(1, true);
  EXPECT_EQ(owner.pool, PackPools::kCommon);
  EXPECT_TRUE(owner.mixed);
  PackOwner one;
  one.Add(1, false);
  PackOwner two;
  two.Add(2, false);
  EXPECT_TRUE(owner.RemovesFrom(one));
  EXPECT_FALSE(owner.RemovesFrom(two));
  EXPECT_TRUE(owner.RemovesFrom(owner));
  EXPECT_TRUE(owner.RemovesFrom(PackOwner()));
}

TEST(BucketTierOptions, NeedsRoomBesideWhatIsReserved) {
  BucketTierOptions options;
  options.pack_bytes = 100;
  EXPECT_EQ(options.LeastBytes(), 400u);
  options.reservations = {{"a", 1000}, {"b", 50}};
  EXPECT_EQ(options.LeastBytes(), 1650u);
  options.reservations["c"] = UINT64_MAX - 3;
  EXPECT_EQ(options.LeastBytes(), UINT64_MAX);
}

}  // namespace
}  // namespace kvcast
