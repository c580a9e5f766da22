#include "kvcast/store/bucket_tier.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(BucketTier, GivesBackWhatWasPutWithEveryField) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.tier->ready());
  Object object = BucketObject({3, 1}, "kv");
  object.subgroup = 9;
  object.priority = 7;
  object.forwarding = Forwarding::kDatagram;
  object.properties = PropertiesBuilder().Number(0x3c, 5).Build();
  ASSERT_TRUE(node.Put(kBucketTrack, object).ok());
  const auto found = node.Get(kBucketTrack, {3, 1});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->object.ConsistentWith(object));
  EXPECT_EQ(found->object.properties, object.properties);
  EXPECT_EQ(found->received_us, 17u);
  EXPECT_EQ(node.tier->PresenceOf(kBucketTrack, {3, 1}), Presence::kExists);
  EXPECT_EQ(node.tier->PresenceOf(kBucketTrack, {3, 2}), Presence::kUnknown);
}

TEST(BucketTier, GathersObjectsIntoOnePack) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({0, i}, "token"), 0, node.now).ok());
    node.Run();
  }
  EXPECT_EQ(bucket.objects().size(), 0u);
  EXPECT_TRUE(node.written.empty());
  node.Wait(seconds(1));
  EXPECT_EQ(bucket.objects().size(), 1u);
  EXPECT_EQ(node.written.size(), 100u);
}

TEST(BucketTier, ClosesAPackThatIsFullWithoutWaiting) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        node.tier->Put(kBucketTrack, BucketObject({0, i}, std::string(20000, 'x')), 0, node.now)
            .ok());
  }
  node.Run();
  EXPECT_EQ(bucket.objects().size(), 2u);
  EXPECT_EQ(node.written.size(), 4u);
  const auto huge =
      node.tier->Put(kBucketTrack, BucketObject({1, 0}, std::string(70000, 'x')), 0, node.now);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code(), ErrorCode::kTooLarge);
}

TEST(BucketTier, AFreshNodeFindsEverybodysPacks) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  second.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 1000).Build();
  facts.gaps = {{{5, 0}, {5, 9}}};
  for (uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, i}, "first")).ok());
  }
  ASSERT_TRUE(first.Settle(first.tier->EndGroup(kBucketTrack, {0, 6}, first.now)).ok());
  ASSERT_TRUE(second.Settle(second.tier->Describe(kBucketTrack, facts, second.now)).ok());
  ASSERT_TRUE(second.Put(kBucketTrack, BucketObject({1, 0}, "second")).ok());

  BucketNode third(bucket, 3);
  third.Start();
  ASSERT_TRUE(third.tier->ready());
  EXPECT_EQ(third.tier->index().object_count(), 7u);
  EXPECT_EQ(third.Payload(kBucketTrack, {0, 3}), "first");
  EXPECT_EQ(third.Payload(kBucketTrack, {1, 0}), "second");
  EXPECT_TRUE(third.tier->FindGroup(kBucketTrack, 0)->whole());
  EXPECT_EQ(third.tier->FindTrack(kBucketTrack)->properties, facts.properties);
  EXPECT_EQ(third.tier->FindTrack(kBucketTrack)->largest, (Location{1, 0}));
  EXPECT_EQ(third.tier->PresenceOf(kBucketTrack, {5, 2}), Presence::kGone);
  EXPECT_EQ(third.tier->PresenceOf(kBucketTrack, {0, 6}), Presence::kGone);

  // And those that go on find what came later.
  EXPECT_FALSE(first.Payload(kBucketTrack, {1, 0}).has_value());
  first.Wait(minutes(2));
  EXPECT_EQ(first.Payload(kBucketTrack, {1, 0}), "second");
}

// So that a node can tell its clients what others have put.
TEST(BucketTier, TellsWhichGroupsOthersHaveMadeWholeAndRemoved) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  second.Start();
  Object object = BucketObject({4, 0}, "kv");
  ASSERT_TRUE(second.Put(kBucketTrack, object).ok());
  first.Wait(minutes(2));
  EXPECT_TRUE(first.arrived.empty());  // It may lack objects.
  ASSERT_TRUE(second.Settle(second.tier->EndGroup(kBucketTrack, {4, 1}, second.now)).ok());
  first.Wait(minutes(2));
  ASSERT_EQ(first.arrived.size(), 1u);
  EXPECT_EQ(first.arrived[0].track, kBucketTrack);
  EXPECT_EQ(first.arrived[0].group, 4u);
  EXPECT_TRUE(first.arrived[0].facts.whole());
  EXPECT_TRUE(second.arrived.empty());
  ASSERT_TRUE(second.Settle(second.tier->Remove(kBucketTrack, std::nullopt, second.now)).ok());
  first.Wait(minutes(2));
  ASSERT_EQ(first.evicted.size(), 1u);
  EXPECT_EQ(first.evicted[0].group, 4u);
}

TEST(BucketTier, APackThatHasEnoughWaitsForNoMore) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.enough_bytes = 3000;
  node.Start();
  const auto first =
      node.tier->Put(kBucketTrack, BucketObject({0, 0}, std::string(2000, 'x')), 1, node.now);
  node.Run();
  EXPECT_FALSE(node.written.contains(*first));
  const auto second =
      node.tier->Put(kBucketTrack, BucketObject({0, 1}, std::string(2000, 'y')), 1, node.now);
  node.Run();
  EXPECT_TRUE(node.written.contains(*first));
  EXPECT_TRUE(node.written.contains(*second));
  EXPECT_EQ(bucket.put_count(), 1u);
}

TEST(BucketTier, ReadsNeighboursByOneRequest) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(
        node.tier->Put(kBucketTrack, BucketObject({0, i}, std::to_string(i)), 0, node.now).ok());
  }
  node.Wait(seconds(1));
  const uint64_t before = bucket.request_count();
  std::vector<TierTicket> tickets;
  for (uint64_t i = 0; i < 50; ++i) {
    tickets.push_back(*node.tier->Get(kBucketTrack, {0, 49 - i}, node.now));
  }
  node.Run();
  EXPECT_EQ(bucket.request_count(), before + 1);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(node.reads.at(tickets[i])->object.payload.ToString(), std::to_string(49 - i));
  }
}

TEST(BucketTier, ANameNeverYieldsTwoPayloads) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  const auto first = node.tier->Put(kBucketTrack, BucketObject({0, 0}, "one"), 0, node.now);
  // While it waits, and when it is there.
  EXPECT_EQ(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "two"), 0, node.now).error().code(),
            ErrorCode::kMismatch);
  ASSERT_TRUE(node.Settle(first).ok());
  EXPECT_EQ(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "two"), 0, node.now).error().code(),
            ErrorCode::kMismatch);
  const uint64_t puts = bucket.put_count();
  EXPECT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "one")).ok());
  EXPECT_EQ(bucket.put_count(), puts);
}

TEST(BucketTier, ADamagedRecordIsAMissAndIsRefilled) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "whole"), 0, node.now).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 1}, "payload")).ok());
  auto& pack = bucket.objects().begin()->second;
  const auto payload = AsBytes("payload");
  const auto at = std::search(pack.begin(), pack.end(), payload.begin(), payload.end());
  ASSERT_NE(at, pack.end());
  *at ^= std::byte{4};
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 1}).has_value());
  EXPECT_EQ(node.tier->counts().damaged, 1u);
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "whole");
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 1}, "payload")).ok());
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 1}), "payload");
}

TEST(BucketTier, APackWhoseEndIsDamagedIsReadFromItsRecords) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.objects().begin()->second.back() ^= std::byte{1};
  node.Start();
  EXPECT_EQ(node.tier->counts().damaged, 1u);
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
}

TEST(BucketTier, APackOfAnotherVersionIsRefusedAndUntouched) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  auto& pack = bucket.objects().begin()->second;
  const size_t trailer = pack.size() - kTrailerBytes;
  pack[trailer + 8] = std::byte{2};
  ByteWriter sum;
  sum.U32Le(Crc32c(std::span(pack).subspan(trailer, kTrailerBytes - 4)));
  sum.Take().CopyTo(std::span(pack).last(4));
  const auto before = bucket.objects();
  node.Start();
  ASSERT_EQ(node.tier->state(), BucketTier::State::kRefused);
  EXPECT_NE(node.tier->refusal().ToString().find("version 2"), std::string::npos);
  EXPECT_NE(node.tier->refusal().ToString().find(".pack"), std::string::npos);
  EXPECT_FALSE(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "kv"), 0, node.now).ok());
  node.Wait(minutes(5));
  EXPECT_EQ(bucket.objects(), before);
}

TEST(BucketTier, KeysThatAreNotPacksAreLeftAlone) {
  MemoryBucket bucket(1);
  bucket.objects()["kvcast/v1/readme.txt"] = std::vector<std::byte>(9);
  bucket.objects()["kvcast/v2/" + std::string(32, 'a') + "/x.pack"] = std::vector<std::byte>(9);
  BucketNode node(bucket);
  node.Start();
  EXPECT_TRUE(node.tier->ready());
  EXPECT_EQ(node.tier->counts().foreign, 1u);
  EXPECT_EQ(bucket.objects().size(), 2u);
}

TEST(BucketTier, WithoutRoomInItsIndexANodeSaysSoReadsNoMoreAndGoesOnPutting) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t group = 0; group < 60; ++group) {
    ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({group, 0}, "kv")).ok());
  }
  BucketNode small(bucket, 2);
  small.options.index_bytes_max = node.tier->index_bytes() / 2;
  small.Start();
  ASSERT_TRUE(small.tier->ready());
  EXPECT_GT(small.tier->counts().left_out, 10u);
  const uint64_t before = bucket.request_count();
  small.Wait(std::chrono::minutes(5));
  EXPECT_EQ(
      std::ranges::count(small.log.records(), "index of the bucket has no room", &LogRecord::event),
      1);
  EXPECT_LE(bucket.request_count() - before, 5 * 20u) << "only listings, of three keys a page";
  for (uint64_t group = 100; group < 200; ++group) {
    ASSERT_TRUE(small.Put(kBucketTrack, BucketObject({group, 0}, "kv")).ok()) << group;
    EXPECT_EQ(small.Payload(kBucketTrack, {group, 0}), "kv");
    ASSERT_LE(small.tier->index_bytes(), small.options.index_bytes_max + 4096);
  }
  EXPECT_GT(small.tier->counts().forgotten, 0u);
  small.options.index_bytes_max = SIZE_MAX;
  small.Start();
  EXPECT_EQ(small.tier->index().object_count(), 160u) << "nothing is lost but the knowledge of it";
}

TEST(BucketTier, OldPacksGoWhenTheBudgetIsSpent) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 1000).Build();
  ASSERT_TRUE(node.Settle(node.tier->Describe(kBucketTrack, facts, node.now)).ok());
  for (uint64_t i = 0; i < 60; ++i) {
    const auto put = node.Put(kBucketTrack, BucketObject({i, 0}, std::string(20000, 'x')));
    ASSERT_TRUE(put.ok()) << put.error().ToString();
    ASSERT_LE(bucket.bytes(), node.options.bytes_max);
  }
  EXPECT_GT(node.tier->counts().packs_removed, 10u);
  EXPECT_EQ(node.tier->packs().own_bytes, bucket.bytes());
  // What went was told.
  std::set<uint64_t> gone;
  for (const EvictedGroup& group : node.evicted) {
    gone.insert(group.group);
  }
  for (uint64_t i = 0; i < 60; ++i) {
    EXPECT_NE(node.Payload(kBucketTrack, {i, 0}).has_value(), gone.contains(i)) << i;
  }
  // What is known of the track outlives the pack that said it.
  node.Start();
  EXPECT_EQ(node.tier->FindTrack(kBucketTrack)->properties, facts.properties);
  EXPECT_EQ(node.tier->FindTrack(kBucketTrack)->largest, (Location{59, 0}));
}

// Or they would be written down again and again, for as long as there is a bucket.
TEST(BucketTier, EndsOfGroupsThatHaveGoneAreForgotten) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  const TrackName other = BucketTrack("other");
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, std::string(20'000, 'x'))).ok());
  const auto first = *bucket.objects().begin();
  ASSERT_TRUE(node.tier->Put(other, BucketObject({1000, 0}, "kv"), 17, node.now).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {0, 1}, node.now)).ok());
  ASSERT_EQ(bucket.objects().size(), 2u);
  uint64_t puts = 0;
  while (bucket.objects().contains(first.first)) {
    ASSERT_LT(puts, 100u);
    ASSERT_TRUE(node.Put(other, BucketObject({puts++, 0}, std::string(20'000, 'x'))).ok());
  }
  EXPECT_EQ(node.tier->FindTrack(kBucketTrack), nullptr);
  BucketNode fresh(bucket, 2);
  fresh.Start();
  ASSERT_TRUE(fresh.tier->FindGroup(other, 1000).has_value()) << "the end is still there";
  EXPECT_FALSE(fresh.tier->GroupFrom(kBucketTrack, 0).has_value());
  // What comes late is whole all the same.
  BucketNode late(bucket, 3);
  late.Start();
  bucket.objects().insert(first);
  late.Wait(minutes(2));
  ASSERT_TRUE(late.tier->FindGroup(kBucketTrack, 0).has_value());
  EXPECT_TRUE(late.tier->FindGroup(kBucketTrack, 0)->whole());
  bucket.objects().erase(first.first);
  for (uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(node.Put(other, BucketObject({puts++, 0}, std::string(20'000, 'x'))).ok());
  }
  node.Start();
  EXPECT_EQ(node.tier->FindTrack(kBucketTrack), nullptr);
}

// Each without knowing of the other.
TEST(BucketTier, WhatOneNodeToldOfATrackOutlivesItsPackAlthoughAnotherNodeToldLess) {
  MemoryBucket bucket(1);
  BucketNode a(bucket, 1);
  BucketNode b(bucket, 2);
  a.options.bytes_max = 6 * BucketNode::kPackBytes;
  a.Start();
  b.Start();
  TrackFacts from_a;
  from_a.properties = PropertiesBuilder().Number(4, 1000).Build();
  from_a.largest = Location{5, 0};
  from_a.gaps = {{{0, 1}, {0, 3}}};
  ASSERT_TRUE(a.tier->Describe(kBucketTrack, from_a, a.now).ok());
  ASSERT_TRUE(a.Put(kBucketTrack, BucketObject({0, 0}, std::string(40'000, 'a'))).ok());
  TrackFacts from_b;
  from_b.largest = Location{9, 0};
  ASSERT_TRUE(b.tier->Describe(kBucketTrack, from_b, b.now).ok());
  ASSERT_TRUE(b.Put(kBucketTrack, BucketObject({9, 0}, "b")).ok());
  a.Wait(minutes(2));
  ASSERT_EQ(a.Payload(kBucketTrack, {9, 0}), "b");
  for (uint64_t i = 0; a.tier->counts().packs_removed == 0; ++i) {
    ASSERT_LT(i, 100u);
    ASSERT_TRUE(a.Put(BucketTrack("other"), BucketObject({i, 0}, std::string(20'000, 'x'))).ok());
  }
  EXPECT_TRUE(a.tier->FindTrack(kBucketTrack)->HasGap(from_a.gaps[0]));
  EXPECT_TRUE(a.tier->Covers(kBucketTrack, from_a));
  a.Start();
  ASSERT_NE(a.tier->FindTrack(kBucketTrack), nullptr);
  EXPECT_TRUE(a.tier->FindTrack(kBucketTrack)->HasGap(from_a.gaps[0])) << "after a start";
  EXPECT_EQ(a.tier->FindTrack(kBucketTrack)->properties, from_a.properties);
}

// What a pack alone says is written down before it goes, however many packs that takes.
TEST(BucketTier, APackGoesWhenAllThatItSaidStandsElsewhere) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.bytes_max = 12 * BucketNode::kPackBytes;
  node.Start();
  const auto free_bytes = [&] {
    uint64_t used = 0;
    for (const auto& [key, pack] : bucket.objects()) {
      used += pack.size();
    }
    return node.options.bytes_max - used;
  };
  TrackFacts small;
  small.properties = PropertiesBuilder().Bytes(0x4001, std::string(100, 's')).Build();
  ASSERT_TRUE(node.tier->Describe(BucketTrack("a"), small, node.now).ok());
  TrackFacts large;
  large.properties = PropertiesBuilder().Bytes(0x4001, std::string(12'000, 'l')).Build();
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(node.tier->Put(BucketTrack(name), BucketObject({0, 0}, "kv"), 17, node.now).ok());
  }
  ASSERT_TRUE(node.Put(BucketTrack("d"), BucketObject({0, 0}, "kv")).ok());
  ASSERT_EQ(bucket.put_count(), 1u);
  for (const char* name : {"b", "c", "d"}) {
    ASSERT_TRUE(node.Settle(node.tier->Describe(BucketTrack(name), large, node.now)).ok());
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(node.Put(BucketTrack(name), BucketObject({1, 0}, "kv")).ok());
  }
  for (uint64_t i = 0; free_bytes() > 116'000; ++i) {
    ASSERT_TRUE(node.Put(BucketTrack("e"), BucketObject({i, 0}, "kv")).ok());
  }
  ASSERT_EQ(node.tier->counts().packs_removed, 0u);
  // There is room for what must be written down, in two packs, and not for this.
  const auto more = node.tier->Put(BucketTrack("f"), BucketObject({0, 0}, std::string(52'000, 'f')),
                                   17, node.now);
  ASSERT_TRUE(more.ok());
  node.tier->Flush(node.now);
  for (int i = 0; node.tier->counts().packs_removed == 0; ++i) {
    ASSERT_LT(i, 10'000);
    if (!node.Step()) {
      node.Wait(std::chrono::milliseconds(10));
    }
  }
  BucketNode after(bucket, 2);  // If that ended now.
  after.Start();
  ASSERT_NE(after.tier->FindTrack(BucketTrack("a")), nullptr);
  EXPECT_EQ(after.tier->FindTrack(BucketTrack("a"))->properties, small.properties);
}

}  // namespace
}  // namespace kvcast
