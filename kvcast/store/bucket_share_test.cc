// A bucket that several tiers of one node have together, each with tracks of its own.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/object/track_shard.h"
#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kTracks = 24;

TrackName SharedTrack(uint64_t number) {
  return *TrackName::Of(
      *TrackNamespace::Of({"service", "tenant/model", "prefix " + std::to_string(number)}), "BF16");
}

// One node, by as many tiers as it has shards.
class Shards {
 public:
  Shards(MemoryBucket& bucket, size_t count, uint8_t start, uint64_t bytes_max = 0,
         Duration merge_every = Duration(0)) {
    for (size_t i = 0; i < count; ++i) {
      tiers_.push_back(std::make_unique<BucketNode>(bucket, 1));
      BucketTierOptions& options = tiers_.back()->options;
      options.seed = uint64_t{100} * start + 10 * i;
      options.share = {i, count};
      options.owns = [i, count](const TrackNamespace& space) { return ShardOf(space, count) == i; };
      options.survey_every = seconds(5);
      options.bytes_max = bytes_max / count;
      options.merge_every = merge_every;
      options.merge_packs_min = 3;
      tiers_.back()->Start();
    }
  }
  BucketNode& Of(const TrackName& track) { return *tiers_[ShardOf(track.space(), tiers_.size())]; }
  BucketNode& operator[](size_t index) { return *tiers_[index]; }
  size_t size() const { return tiers_.size(); }

  void PutAll(const std::string& payload) {
    for (uint64_t number = 0; number < kTracks; ++number) {
      const TrackName track = SharedTrack(number);
      ASSERT_TRUE(Of(track).Put(track, BucketObject({0, 0}, payload)).ok());
    }
  }
  size_t Found(const std::string& payload) {
    size_t found = 0;
    for (uint64_t number = 0; number < kTracks; ++number) {
      const TrackName track = SharedTrack(number);
      found += Of(track).Payload(track, {0, 0}) == payload ? 1u : 0u;
    }
    return found;
  }
  template <typename Value>
  uint64_t Sum(Value value) {
    uint64_t sum = 0;
    for (const auto& tier : tiers_) {
      sum += value(*tier->tier);
    }
    return sum;
  }
  uint64_t objects() {
    return Sum([](const BucketTier& tier) { return tier.index().object_count(); });
  }
  uint64_t own_bytes() {
    return Sum([](const BucketTier& tier) { return tier.packs().own_bytes; });
  }
  uint64_t packs() {
    return Sum([](const BucketTier& tier) { return tier.packs().counted; });
  }
  void Wait(Duration duration) {
    for (Duration passed{}; passed < duration; passed += seconds(1)) {
      for (const auto& tier : tiers_) {
        tier->Wait(seconds(1));
      }
    }
  }

 private:
  std::vector<std::unique_ptr<BucketNode>> tiers_;
};

// A start with any other number of shards finds all, each thing once, and every pack is somebody's.
TEST(BucketShare, AnotherNumberOfShardsFindsWhatIsThere) {
  for (const size_t before : {1u, 2u, 4u}) {
    MemoryBucket bucket(1);
    Shards(bucket, before, 1).PutAll("kv");
    for (const size_t after : {1u, 2u, 3u, 4u}) {
      SCOPED_TRACE(std::to_string(before) + " shards, then " + std::to_string(after));
      Shards again(bucket, after, 2);
      EXPECT_EQ(again.Found("kv"), kTracks);
      EXPECT_EQ(again.objects(), kTracks);
      EXPECT_EQ(again.own_bytes(), bucket.bytes());
      EXPECT_EQ(again.packs(), bucket.objects().size());
    }
  }
}

TEST(BucketShare, EachHoldsNothingButItsTracks) {
  MemoryBucket bucket(1);
  Shards(bucket, 1, 1).PutAll("kv");
  Shards shards(bucket, 2, 2);
  for (size_t i = 0; i < 2; ++i) {
    for (const TrackName& track : shards[i].tier->Tracks(std::nullopt, 1000)) {
      EXPECT_EQ(ShardOf(track.space(), 2), i);
    }
  }
}

// Packs of its own start are never another tier's, which could give them up.
TEST(BucketShare, EachSeesToThePacksThatItWrites) {
  MemoryBucket bucket(1);
  Shards shards(bucket, 4, 1);
  shards.PutAll("kv");
  shards.Wait(seconds(20));
  for (size_t i = 0; i < 4; ++i) {
    const PackTable& table = shards[i].tier->packs();
    EXPECT_EQ(table.packs.size(), bucket.objects().size()) << "it knows all";
    for (const auto& [segment, pack] : table.packs) {
      EXPECT_EQ(table.Own(pack), pack.id.node == table.node);
    }
  }
}

// The tracks of a removal are one tier's, and what it reaches may lie in anybody's packs.
TEST(BucketShare, WhatWasRemovedStaysSoForAnyNumber) {
  MemoryBucket bucket(1);
  const TrackName gone = SharedTrack(7);
  Shards(bucket, 1, 1).PutAll("kv");
  {
    Shards two(bucket, 2, 2);
    BucketNode& tier = two.Of(gone);
    ASSERT_TRUE(tier.Settle(tier.tier->Remove(gone, std::nullopt, tier.now)).ok());
  }
  for (const size_t count : {1u, 2u, 3u}) {
    Shards again(bucket, count, 3);
    EXPECT_EQ(again.Found("kv"), kTracks - 1) << count;
    EXPECT_FALSE(again.Of(gone).Payload(gone, {0, 0}).has_value()) << count;
  }
}

// A merge writes again what this tier knows, and a pack may hold more than that.
TEST(BucketShare, AMergeLosesNothingOfTheOthers) {
  MemoryBucket bucket(1);
  Shards(bucket, 2, 1).PutAll("kv");
  const size_t packs = bucket.objects().size();
  Shards shards(bucket, 3, 2, 0, seconds(10));
  shards.Wait(minutes(5));
  EXPECT_EQ(shards.Found("kv"), kTracks);
  Shards alone(bucket, 1, 3, 0, seconds(10));
  alone.Wait(minutes(5));
  EXPECT_EQ(alone.Found("kv"), kTracks);
  EXPECT_LT(bucket.objects().size(), packs / 2) << "one tier has all of them";
}

// What one gives up for room is gone for all, and nobody says that it is there.
TEST(BucketShare, WhatOneGivesUpIsNobodysAnyMore) {
  MemoryBucket bucket(1);
  Shards(bucket, 1, 1).PutAll("old");
  Shards two(bucket, 2, 2, 2 * 4 * BucketNode::kPackBytes);
  for (uint64_t number = 0; number < 40; ++number) {
    const TrackName track = SharedTrack(1000 + number);
    ASSERT_TRUE(two.Of(track).Put(track, BucketObject({0, 0}, std::string(30000, 'x'))).ok());
  }
  two.Wait(minutes(1));
  EXPECT_LT(two.Found("old"), kTracks);
  EXPECT_LE(two.own_bytes(), 2 * 4 * BucketNode::kPackBytes);
  EXPECT_EQ(two.own_bytes(), bucket.bytes());
}

}  // namespace
}  // namespace kvcast
