// What a bucket has, on a disk as well: it comes there, goes first, and costs nothing that only the
// disk has.
#include <gtest/gtest.h>

#include <string>

#include "kvcast/store/tiered_store_test.h"

namespace kvcast {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kInBucket = 1000;  // Groups from this one on are put there by another node.
constexpr uint64_t kHeld = 40;        // As many as the disk has room for, whatever goes for them.

class StoreSpares : public testing::Test {
 protected:
  // Another node puts so many groups into the bucket, and this one finds them there.
  void FillBucket(uint64_t groups) {
    BucketNode other(tiered_.bucket, 2);
    other.Start();
    for (uint64_t group = kInBucket; group < kInBucket + groups; ++group) {
      for (uint64_t object = 0; object < kGroupObjects; ++object) {
        ASSERT_TRUE(other.Put(kBucketTrack, tiered_.Make({group, object})).ok());
      }
      ASSERT_TRUE(
          other.Settle(other.tier->EndGroup(kBucketTrack, {group, kGroupObjects}, other.now)).ok());
    }
    tiered_.Wait(minutes(2));
  }
  // How many objects of so many groups come, each read once.
  size_t Read(uint64_t first, uint64_t groups) {
    size_t readable = 0;
    for (uint64_t group = first; group < first + groups; ++group) {
      for (uint64_t object = 0; object < kGroupObjects; ++object) {
        const auto payload = tiered_.PayloadNow({group, object});
        EXPECT_EQ(payload.value_or(TieredPayload({group, object})), TieredPayload({group, object}));
        readable += payload ? 1u : 0u;
      }
    }
    tiered_.Wait(seconds(2));
    return readable;
  }
  void PutOnDisk(uint64_t first, uint64_t groups) {
    for (uint64_t group = first; group < first + groups; ++group) {
      ASSERT_TRUE(tiered_.PutGroup(group, Durability::kDisk).ok());
      tiered_.Wait(seconds(2));
    }
  }
  // Of these groups, how many have all on the disk.
  uint64_t OnDisk(uint64_t first, uint64_t groups) const {
    uint64_t whole = 0;
    for (uint64_t group = first; group < first + groups; ++group) {
      const auto found = tiered_.disk->FindGroup(kBucketTrack, group);
      whole += found && found->whole() ? 1u : 0u;
    }
    return whole;
  }

  TieredStore tiered_{/*segments=*/24, "default"};  // Three groups fit a segment.
};

// A node that finds a full bucket reads each block from there once: what memory gives up then lies
// on the disk.
TEST_F(StoreSpares, WhatComesUpFromABucketStaysOnTheDisk) {
  const uint64_t groups = 12;  // Three times what memory holds.
  FillBucket(groups);
  ASSERT_EQ(tiered_.disk->index().object_count(), 0u);
  EXPECT_EQ(Read(kInBucket, groups), groups * kGroupObjects);
  const uint64_t puts = tiered_.bucket.put_count();
  tiered_.bucket.faults().refuse = 1;  // From now on the bucket gives nothing.
  EXPECT_EQ(Read(kInBucket, groups), groups * kGroupObjects);
  EXPECT_EQ(tiered_.bucket.put_count(), puts) << "what came from there went there again";
  EXPECT_EQ(tiered_.store->counts().not_demoted, 0u);
}

TEST_F(StoreSpares, WhatIsPutIntoABucketComesToLieOnTheDiskToo) {
  for (uint64_t group = 0; group < 12; ++group) {
    ASSERT_TRUE(tiered_.PutGroup(group, Durability::kBucket).ok());
    tiered_.Wait(seconds(2));
  }
  EXPECT_GE(OnDisk(0, 12), 8u);  // The others are in memory yet.
  tiered_.bucket.faults().refuse = 1;
  EXPECT_EQ(Read(0, 12), 12 * kGroupObjects);
}

// However much is read from the bucket: first with room left, then without any.
TEST_F(StoreSpares, ReadingABucketCostsNothingThatOnlyTheDiskHas) {
  const uint64_t in_bucket = 60;  // Nearly all that the disk could hold.
  FillBucket(in_bucket);
  uint64_t own = 0;
  for (const uint64_t more : {20u, 12u, 40u}) {
    PutOnDisk(own, more);
    own += more;
    const uint64_t before = OnDisk(0, own);
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(Read(kInBucket, in_bucket), in_bucket * kGroupObjects);
      EXPECT_EQ(OnDisk(0, own), before) << own;
    }
  }
}

// What is put finds the room that it would have found on a disk to which nothing had come from the
// bucket.
TEST_F(StoreSpares, WhatABucketHasMakesRoomForWhatIsPut) {
  const uint64_t in_bucket = 60;
  FillBucket(in_bucket);
  Read(kInBucket, in_bucket);
  ASSERT_GT(OnDisk(kInBucket, in_bucket), 35u);
  const uint64_t puts = tiered_.bucket.put_count();
  PutOnDisk(0, kHeld);
  EXPECT_EQ(OnDisk(0, kHeld), kHeld);
  EXPECT_GT(tiered_.disk->counts().segments_removed, 0u);
  EXPECT_EQ(tiered_.bucket.put_count(), puts) << "what is in the bucket went there again";
}

// As it is where nodes read and publish at the same time: both lie in each segment.
TEST_F(StoreSpares, WhatABucketHasMakesRoomOutOfSegmentsThatItShares) {
  const uint64_t in_bucket = 26;
  FillBucket(in_bucket);
  for (uint64_t one = 0; one < in_bucket; ++one) {
    Read(kInBucket + one, 1);
    PutOnDisk(one, 1);
  }
  ASSERT_GT(OnDisk(kInBucket, in_bucket), 15u);
  ASSERT_EQ(OnDisk(0, in_bucket), in_bucket);
  PutOnDisk(in_bucket, kHeld - in_bucket);
  EXPECT_EQ(OnDisk(0, kHeld), kHeld);
}

TEST_F(StoreSpares, AStartFindsOutWhatABucketHasToo) {
  const uint64_t in_bucket = 60;
  FillBucket(in_bucket);
  Read(kInBucket, in_bucket);
  tiered_.Restart();
  tiered_.Wait(seconds(2));
  ASSERT_GT(OnDisk(kInBucket, in_bucket), 35u);
  PutOnDisk(0, kHeld);
  EXPECT_EQ(OnDisk(0, kHeld), kHeld);
}

// What the bucket loses, the disk alone has: it need not go first any more, and goes to the bucket
// when its turn comes.
TEST_F(StoreSpares, WhatABucketLosesIsNoLongerTheFirstToGo) {
  FillBucket(12);
  Read(kInBucket, 12);
  const uint64_t kept = OnDisk(kInBucket, 12);
  ASSERT_GT(kept, 6u);
  tiered_.bucket.objects().clear();
  tiered_.Wait(minutes(5));  // Two listings do not show it.
  ASSERT_FALSE(tiered_.remote->FindGroup(kBucketTrack, kInBucket));
  EXPECT_EQ(OnDisk(kInBucket, 12), kept);
  PutOnDisk(0, 120);
  EXPECT_GT(tiered_.remote->index().object_count(), 0u);
  EXPECT_EQ(Read(kInBucket, 12), 12 * kGroupObjects);
}

}  // namespace
}  // namespace kvcast
