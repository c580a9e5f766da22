// What is removed stays so, and nothing else goes, whatever order packs are found in.
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/base/byte_writer.h"
#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/heap_bytes_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(BucketRemoval, WhatWasRemovedStaysSoOnAFreshNode) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "a")).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "b")).ok());
  ASSERT_TRUE(node.Put(BucketTrack("other"), BucketObject({0, 0}, "c")).ok());
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 0, node.now)).ok());
  ASSERT_TRUE(node.Settle(node.tier->Remove(BucketTrack("other"), std::nullopt, node.now)).ok());
  // Put again after it was removed, it is here again.
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 1, node.now)).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "b")).ok());

  BucketNode fresh(bucket, 2);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {1, 0}), "b");
  EXPECT_EQ(fresh.tier->FindTrack(BucketTrack("other")), nullptr);
}

TEST(BucketRemoval, ARemovalSparesWhatItsNodeHadNotSeen) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, 0}, "seen")).ok());
  second.Start();
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, 1}, "unseen")).ok());
  const auto removed = second.tier->Remove(kBucketTrack, 0, second.now);
  // What it hears of before its removal is in the bucket does not count, either.
  second.Wait(milliseconds(10));
  ASSERT_TRUE(second.Settle(removed).ok());
  second.Wait(minutes(2));
  EXPECT_EQ(second.Payload(kBucketTrack, {0, 1}), "unseen");

  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 1}), "unseen");
  first.Wait(minutes(2));
  EXPECT_FALSE(first.Payload(kBucketTrack, {0, 0}).has_value());
}

TEST(BucketRemoval, ARemovalSparesAPackThatComesLate) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  std::map<std::string, std::vector<std::byte>> late;
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, i}, "kv")).ok());
    if (i == 1) {
      late.insert(bucket.objects().extract(std::prev(bucket.objects().end())));
    }
  }
  BucketNode second(bucket, 2);
  second.Start();
  ASSERT_TRUE(second.Settle(second.tier->Remove(kBucketTrack, 0, second.now)).ok());
  bucket.objects().merge(late);
  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 1}), "kv");
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {0, 2}).has_value());
}

TEST(PackHorizon, HasWhatWasAddedInWhateverOrder) {
  PackNode node;
  std::vector<uint32_t> numbers = {1, 2, 3, 5, 6, UINT32_MAX};
  PackHorizon rising;
  for (const uint32_t number : numbers) {
    rising.Add(node, number);
  }
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    for (size_t last = numbers.size(); last > 1; --last) {
      std::swap(numbers[last - 1], numbers[random.Below(last)]);
    }
    PackHorizon other;
    for (const uint32_t number : numbers) {
      other.Add(node, number);
      other.Add(node, number);
    }
    ASSERT_EQ(other, rising);
  }
  for (const uint32_t number : {0u, 4u, 7u, UINT32_MAX - 1}) {
    EXPECT_FALSE(rising.Has(node, number));
  }
  ByteWriter writer;
  rising.WriteTo(writer);
  const Bytes written = writer.Take();
  ByteReader reader(written);
  EXPECT_EQ(*PackHorizon::Read(reader), rising);
  EXPECT_TRUE(reader.done());
}

TEST(BucketRemoval, APutIsNotTakenForDoneByWhatAnOldListingShows) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  BucketNode other(bucket, 2);
  other.Start();  // Its listing is the one that stays.
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 0, node.now)).ok());
  bucket.faults().stale_list = 1;
  node.Start();
  ASSERT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().stale_list = 0;
  node.Wait(minutes(2));
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
  other.Start();
  EXPECT_EQ(other.Payload(kBucketTrack, {0, 0}), "kv");
}

TEST(BucketRemoval, WhatStandsTwiceIsFoundInWhateverOrderPacksAre) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(first.Settle(first.tier->EndGroup(kBucketTrack, {0, 1}, first.now)).ok());
  BucketNode second(bucket, 2);
  second.Start();
  ASSERT_TRUE(second.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(second.Settle(second.tier->EndGroup(kBucketTrack, {0, 1}, second.now)).ok());
  ASSERT_TRUE(first.Settle(first.tier->Remove(kBucketTrack, std::nullopt, first.now)).ok());
  std::vector<std::string> keys;
  for (const auto& [key, pack] : bucket.objects()) {
    keys.push_back(key);
  }
  const auto all = bucket.objects();
  std::ranges::sort(keys);
  do {
    // Each is shown when the ones before it have been read.
    bucket.objects().clear();
    BucketNode fresh(bucket, 3);
    fresh.options.survey_every = seconds(1);
    fresh.Start();
    for (const std::string& key : keys) {
      bucket.objects()[key] = all.at(key);
      fresh.Wait(seconds(2));
    }
    EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}), "kv");
    ASSERT_TRUE(fresh.tier->FindGroup(kBucketTrack, 0).has_value());
    EXPECT_TRUE(fresh.tier->FindGroup(kBucketTrack, 0)->whole());
  } while (std::ranges::next_permutation(keys).found);
}

TEST(BucketRemoval, WhatStandsTwiceOutlivesDamageAndTheLossOfAPack) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  second.Start();
  for (BucketNode* node : {&first, &second}) {
    ASSERT_TRUE(node->tier->Put(kBucketTrack, BucketObject({0, 0}, "zero"), 17, node->now).ok());
    ASSERT_TRUE(node->Put(kBucketTrack, BucketObject({0, 1}, "one")).ok());
  }
  BucketNode fresh(bucket, 3);
  fresh.Start();
  ASSERT_EQ(bucket.objects().size(), 2u);
  auto& pack = bucket.objects().rbegin()->second;
  const auto payload = AsBytes("zero");
  const auto at = std::search(pack.begin(), pack.end(), payload.begin(), payload.end());
  ASSERT_NE(at, pack.end());
  *at ^= std::byte{4};
  (void)fresh.Payload(kBucketTrack, {0, 0});
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}), "zero");
  bucket.objects().erase(std::prev(bucket.objects().end()));
  (void)fresh.Payload(kBucketTrack, {0, 1});
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 1}), "one");
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}), "zero");
}

TEST(BucketRemoval, AGroupThatIsPutAgainBeforeItsRemovalIsInTheBucketIsWhole) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {0, 1}, node.now)).ok());
  ASSERT_TRUE(node.tier->Remove(kBucketTrack, 0, node.now).ok());
  ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "kv"), 17, node.now).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {0, 1}, node.now)).ok());
  ASSERT_TRUE(node.tier->FindGroup(kBucketTrack, 0).has_value());
  EXPECT_TRUE(node.tier->FindGroup(kBucketTrack, 0)->whole());
  // And the end of one that is removed is not told after it.
  const auto end = node.tier->EndGroup(kBucketTrack, {1, 1}, node.now);
  ASSERT_TRUE(node.tier->Remove(kBucketTrack, 1, node.now).ok());
  ASSERT_TRUE(node.Settle(end).ok());
  EXPECT_FALSE(node.tier->FindGroup(kBucketTrack, 1).has_value());
}

TEST(BucketRemoval, TheLargestLocationIsKnownWhenItsGroupIsRemoved) {
  MemoryBucket bucket(1);
  BucketNode node(bucket, 9);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({7, 3}, "kv")).ok());
  BucketNode other(bucket, 1);  // Whose pack is listed first.
  other.Start();
  ASSERT_TRUE(other.Settle(other.tier->Remove(kBucketTrack, 7, other.now)).ok());
  BucketNode fresh(bucket, 3);
  fresh.Start();
  ASSERT_NE(fresh.tier->FindTrack(kBucketTrack), nullptr);
  EXPECT_EQ(fresh.tier->FindTrack(kBucketTrack)->largest, (Location{7, 3}));
}

TEST(BucketRemoval, WhatWasRemovedDoesNotComeBackWhenPacksGo) {
  MemoryBucket bucket(1);
  BucketNode other(bucket, 2);
  other.Start();
  ASSERT_TRUE(other.Put(kBucketTrack, BucketObject({1000, 0}, "kv")).ok());
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 1000, node.now)).ok());
  for (uint64_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({i, 0}, std::string(20000, 'x'))).ok());
  }
  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {1000, 0}).has_value());
}

// An upload that was given up by a node that stopped may arrive later, and no listing has shown it
// when the object is put again: only the second copy is out of its reach.
TEST(BucketRemoval, WhatALateRemovalMayReachIsToldWhenItsOtherCopyGoes) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  const Object object = BucketObject({1000, 0}, "kv");
  constexpr uint64_t kSetBack = 1'000'000;  // By so much the node's clock is behind later.
  ASSERT_TRUE(node.Settle(node.tier->Put(kBucketTrack, object, kSetBack, node.now)).ok());
  const auto before = bucket.objects();
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 1000, node.now)).ok());
  std::map<std::string, std::vector<std::byte>> late;
  for (const auto& [key, pack] : bucket.objects()) {
    if (!before.contains(key)) {
      late.emplace(key, pack);
    }
  }
  bucket.objects() = before;

  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, object).ok());
  ASSERT_EQ(bucket.objects().size(), 2u);
  const auto is_told = [&] {
    return std::ranges::any_of(node.evicted, [](const auto& one) { return one.group == 1000; });
  };
  const auto copies = bucket.objects();
  const auto second_is_there = [&] {
    return std::ranges::all_of(
        copies, [&](const auto& copy) { return bucket.objects().contains(copy.first); });
  };
  for (uint64_t i = 0; i < 60 && second_is_there(); ++i) {
    ASSERT_FALSE(is_told());
    ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({i, 0}, std::string(20000, 'x'))).ok());
  }
  ASSERT_FALSE(second_is_there());
  EXPECT_TRUE(is_told());
  EXPECT_EQ(node.Payload(kBucketTrack, {1000, 0}), "kv");

  node.evicted.clear();
  bucket.objects().merge(late);
  node.Wait(minutes(2));
  EXPECT_FALSE(node.Payload(kBucketTrack, {1000, 0}).has_value());
  EXPECT_TRUE(is_told());
}

// A track may live for years, and lose a group every few seconds.
TEST(PackRemovals, AQuestionAboutAGroupIsNotHeldAgainstThoseOfOthers) {
  PackRemovals removals;
  const auto seen = std::make_shared<const PackHorizon>();
  PackId pack;
  constexpr uint64_t kGroups = 10'000;
  for (uint64_t group = 0; group < kGroups; ++group) {
    pack.number = static_cast<uint32_t>(2 + group / 100);
    removals.Add(kBucketTrack, group, pack, 4096 + 64 * group, seen);
  }
  EXPECT_EQ(removals.size(), kGroups);
  for (uint64_t group = 0; group < kGroups + 10; ++group) {
    ASSERT_LE(removals.HeldAgainst(kBucketTrack, group), 1u);
  }
  EXPECT_EQ(removals.HeldAgainst(kBucketTrack, std::nullopt), 0u);
  pack.number = 1;
  EXPECT_TRUE(removals.Covers(kBucketTrack, 0, pack, 1 << 20));
  EXPECT_FALSE(removals.Covers(kBucketTrack, kGroups, pack, 1 << 20));
  EXPECT_FALSE(removals.Covers(kBucketTrack, std::nullopt, pack, 1 << 20));
  // Said again in the same pack, the last one holds.
  pack.number = 500;
  removals.Add(kBucketTrack, std::nullopt, pack, 8192, seen);
  removals.Add(kBucketTrack, std::nullopt, pack, 4096, seen);
  EXPECT_EQ(removals.HeldAgainst(kBucketTrack, 7), 2u);
  EXPECT_TRUE(removals.Covers(kBucketTrack, std::nullopt, pack, 8000));
  EXPECT_FALSE(removals.Covers(kBucketTrack, std::nullopt, pack, 8192));
}

TEST(PackRemovals, CountsWhatItTakesFromTheHeap) {
  PackRemovals removals;
  const auto seen = std::make_shared<const PackHorizon>();
  const size_t empty = HeapBytes();
  PackId pack;
  for (uint64_t number = 0; number < 1000; ++number) {
    pack.number = static_cast<uint32_t>(1 + number % 10);
    const TrackName track = BucketTrack("a track whose name is longer than a string's own room " +
                                        std::to_string(number % 7));
    removals.Add(track, number % 3 == 0 ? std::nullopt : std::optional(number), pack, number, seen);
  }
  // Of names it knows how long they are, and not how they are packed.
  EXPECT_NEAR(static_cast<double>(HeapBytes() - empty), static_cast<double>(removals.bytes()), 100);
  for (pack.number = 1; pack.number <= 10; ++pack.number) {
    removals.Drop(pack);
  }
  EXPECT_EQ(removals.bytes(), 0u);
  EXPECT_EQ(removals.size(), 0u);
  EXPECT_EQ(HeapBytes(), empty);
}

TEST(BucketRemoval, RemovalsCountAmongWhatTheIndexTakes) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t group = 0; group < 200; ++group) {
    ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({group, 0}, "kv"), 0, node.now).ok());
    ASSERT_TRUE(node.tier->Remove(kBucketTrack, group, node.now).ok());
  }
  node.tier->Flush(node.now);
  node.Wait(seconds(5));
  EXPECT_EQ(node.tier->index().object_count(), 0u);
  EXPECT_GT(node.tier->index_bytes(), node.tier->index().bytes() + 200 * 64);
}

}  // namespace
}  // namespace kvcast
