#include "kvcast/store/bucket_tier.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TrackName kTrack = BucketTrack("BF16");

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
  ASSERT_TRUE(node.Put(kTrack, object).ok());
  const auto found = node.Get(kTrack, {3, 1});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->object.ConsistentWith(object));
  EXPECT_EQ(found->object.properties, object.properties);
  EXPECT_EQ(found->received_us, 17u);
  EXPECT_EQ(node.tier->PresenceOf(kTrack, {3, 1}), Presence::kExists);
  EXPECT_EQ(node.tier->PresenceOf(kTrack, {3, 2}), Presence::kUnknown);
}

// Small tokens do not become small requests.
TEST(BucketTier, GathersObjectsIntoOnePack) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(node.tier->Put(kTrack, BucketObject({0, i}, "token"), 0, node.now).ok());
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
        node.tier->Put(kTrack, BucketObject({0, i}, std::string(20000, 'x')), 0, node.now).ok());
  }
  node.Run();
  EXPECT_EQ(bucket.objects().size(), 2u);
  EXPECT_EQ(node.written.size(), 4u);
  const auto huge =
      node.tier->Put(kTrack, BucketObject({1, 0}, std::string(70000, 'x')), 0, node.now);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code(), ErrorCode::kTooLarge);
}

// The loss of a node is survived by what another one finds.
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
    ASSERT_TRUE(first.Put(kTrack, BucketObject({0, i}, "first")).ok());
  }
  ASSERT_TRUE(first.Settle(first.tier->EndGroup(kTrack, {0, 6}, first.now)).ok());
  ASSERT_TRUE(second.Settle(second.tier->Describe(kTrack, facts, second.now)).ok());
  ASSERT_TRUE(second.Put(kTrack, BucketObject({1, 0}, "second")).ok());

  BucketNode third(bucket, 3);
  third.Start();
  ASSERT_TRUE(third.tier->ready());
  EXPECT_EQ(third.tier->index().object_count(), 7u);
  EXPECT_EQ(third.Payload(kTrack, {0, 3}), "first");
  EXPECT_EQ(third.Payload(kTrack, {1, 0}), "second");
  EXPECT_TRUE(third.tier->FindGroup(kTrack, 0)->whole());
  EXPECT_EQ(third.tier->FindTrack(kTrack)->properties, facts.properties);
  EXPECT_EQ(third.tier->FindTrack(kTrack)->largest, (Location{1, 0}));
  EXPECT_EQ(third.tier->PresenceOf(kTrack, {5, 2}), Presence::kGone);
  EXPECT_EQ(third.tier->PresenceOf(kTrack, {0, 6}), Presence::kGone);

  // And those that go on find what came later.
  EXPECT_FALSE(first.Payload(kTrack, {1, 0}).has_value());
  first.Wait(minutes(2));
  EXPECT_EQ(first.Payload(kTrack, {1, 0}), "second");
}

TEST(BucketTier, ReadsNeighboursByOneRequest) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(node.tier->Put(kTrack, BucketObject({0, i}, std::to_string(i)), 0, node.now).ok());
  }
  node.Wait(seconds(1));
  const uint64_t before = bucket.request_count();
  std::vector<TierTicket> tickets;
  for (uint64_t i = 0; i < 50; ++i) {
    tickets.push_back(*node.tier->Get(kTrack, {0, 49 - i}, node.now));
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
  const auto first = node.tier->Put(kTrack, BucketObject({0, 0}, "one"), 0, node.now);
  // While it waits, and when it is there.
  EXPECT_EQ(node.tier->Put(kTrack, BucketObject({0, 0}, "two"), 0, node.now).error().code(),
            ErrorCode::kMismatch);
  ASSERT_TRUE(node.Settle(first).ok());
  EXPECT_EQ(node.tier->Put(kTrack, BucketObject({0, 0}, "two"), 0, node.now).error().code(),
            ErrorCode::kMismatch);
  const uint64_t puts = bucket.put_count();
  EXPECT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "one")).ok());
  EXPECT_EQ(bucket.put_count(), puts);
}

TEST(BucketTier, WhatWasRemovedStaysSoOnAFreshNode) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "a")).ok());
  ASSERT_TRUE(node.Put(kTrack, BucketObject({1, 0}, "b")).ok());
  ASSERT_TRUE(node.Put(BucketTrack("other"), BucketObject({0, 0}, "c")).ok());
  ASSERT_TRUE(node.Settle(node.tier->Remove(kTrack, 0, node.now)).ok());
  ASSERT_TRUE(node.Settle(node.tier->Remove(BucketTrack("other"), std::nullopt, node.now)).ok());
  // Put again after it was removed, it is here again.
  ASSERT_TRUE(node.Settle(node.tier->Remove(kTrack, 1, node.now)).ok());
  ASSERT_TRUE(node.Put(kTrack, BucketObject({1, 0}, "b")).ok());

  BucketNode fresh(bucket, 2);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kTrack, {1, 0}), "b");
  EXPECT_EQ(fresh.tier->FindTrack(BucketTrack("other")), nullptr);
}

// There is no common clock: a removal takes what its node knew of, and no more.
TEST(BucketTier, ARemovalSparesWhatItsNodeHadNotSeen) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  ASSERT_TRUE(first.Put(kTrack, BucketObject({0, 0}, "seen")).ok());
  second.Start();
  ASSERT_TRUE(first.Put(kTrack, BucketObject({0, 1}, "unseen")).ok());
  const auto removed = second.tier->Remove(kTrack, 0, second.now);
  // What it hears of before its removal is in the bucket does not count, either.
  second.Wait(milliseconds(10));
  ASSERT_TRUE(second.Settle(removed).ok());
  second.Wait(minutes(2));
  EXPECT_EQ(second.Payload(kTrack, {0, 1}), "unseen");

  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kTrack, {0, 1}), "unseen");
  first.Wait(minutes(2));
  EXPECT_FALSE(first.Payload(kTrack, {0, 0}).has_value());
}

// Packs are uploaded at the same time: one with a smaller number may come later.
TEST(BucketTier, ARemovalSparesAPackThatComesLate) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  std::map<std::string, std::vector<std::byte>> late;
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(first.Put(kTrack, BucketObject({0, i}, "kv")).ok());
    if (i == 1) {
      late.insert(bucket.objects().extract(std::prev(bucket.objects().end())));
    }
  }
  BucketNode second(bucket, 2);
  second.Start();
  ASSERT_TRUE(second.Settle(second.tier->Remove(kTrack, 0, second.now)).ok());
  bucket.objects().merge(late);
  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kTrack, {0, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kTrack, {0, 1}), "kv");
  EXPECT_FALSE(fresh.Payload(kTrack, {0, 2}).has_value());
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

TEST(BucketTier, ADamagedRecordIsAMissAndIsRefilled) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.tier->Put(kTrack, BucketObject({0, 0}, "whole"), 0, node.now).ok());
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 1}, "payload")).ok());
  auto& pack = bucket.objects().begin()->second;
  const auto payload = AsBytes("payload");
  const auto at = std::search(pack.begin(), pack.end(), payload.begin(), payload.end());
  ASSERT_NE(at, pack.end());
  *at ^= std::byte{4};
  EXPECT_FALSE(node.Payload(kTrack, {0, 1}).has_value());
  EXPECT_EQ(node.tier->counts().damaged, 1u);
  ASSERT_EQ(node.evicted.size(), 1u);
  EXPECT_EQ(node.Payload(kTrack, {0, 0}), "whole");
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 1}, "payload")).ok());
  EXPECT_EQ(node.Payload(kTrack, {0, 1}), "payload");
}

// What went wrong on its way is read once more before it is given up.
TEST(BucketTier, DamageOnTheWayCostsASecondRead) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  const auto ticket = node.tier->Get(kTrack, {0, 0}, node.now);
  bucket.faults().flip = 1;
  node.Step();
  bucket.faults().flip = 0;
  node.Run();
  EXPECT_EQ(node.reads.at(*ticket)->object.payload.ToString(), "kv");
  EXPECT_EQ(node.tier->counts().damaged, 0u);
}

TEST(BucketTier, APackWhoseEndIsDamagedIsReadFromItsRecords) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.objects().begin()->second.back() ^= std::byte{1};
  node.Start();
  EXPECT_EQ(node.tier->counts().damaged, 1u);
  EXPECT_EQ(node.Payload(kTrack, {0, 0}), "kv");
}

TEST(BucketTier, APackOfAnotherVersionIsRefusedAndUntouched) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
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
  EXPECT_FALSE(node.tier->Put(kTrack, BucketObject({0, 0}, "kv"), 0, node.now).ok());
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

TEST(BucketTier, AnOldListingDoesNoHarm) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "a")).ok());
  BucketNode other(bucket, 2);
  other.Start();  // Its listing is the one that stays.
  ASSERT_TRUE(node.Put(kTrack, BucketObject({1, 0}, "b")).ok());
  bucket.faults().stale_list = 1;
  // What it lacks is not lost to who has it already,
  node.Wait(minutes(3));
  EXPECT_EQ(node.Payload(kTrack, {1, 0}), "b");
  // and comes when it is shown.
  other.Start();
  EXPECT_FALSE(other.Payload(kTrack, {1, 0}).has_value());
  bucket.faults().stale_list = 0;
  other.Wait(minutes(2));
  EXPECT_EQ(other.Payload(kTrack, {1, 0}), "b");
  // What it shows and is gone is a miss, and then forgotten.
  bucket.faults().stale_list = 1;
  bucket.objects().clear();
  EXPECT_FALSE(other.Payload(kTrack, {0, 0}).has_value());
  EXPECT_EQ(other.tier->counts().packs_gone, 1u);
  EXPECT_EQ(other.tier->PresenceOf(kTrack, {0, 0}), Presence::kUnknown);
  other.Start();
  EXPECT_TRUE(other.tier->ready());
  EXPECT_EQ(other.tier->index().object_count(), 0u);
}

// A removal that no listing shows would take what was put before it: so whatever this start has
// not put itself is put again, and is then out of its reach.
TEST(BucketTier, APutIsNotTakenForDoneByWhatAnOldListingShows) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  BucketNode other(bucket, 2);
  other.Start();  // Its listing is the one that stays.
  ASSERT_TRUE(node.Settle(node.tier->Remove(kTrack, 0, node.now)).ok());
  bucket.faults().stale_list = 1;
  node.Start();
  ASSERT_EQ(node.Payload(kTrack, {0, 0}), "kv");
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().stale_list = 0;
  node.Wait(minutes(2));
  EXPECT_EQ(node.Payload(kTrack, {0, 0}), "kv");
  other.Start();
  EXPECT_EQ(other.Payload(kTrack, {0, 0}), "kv");
}

// The same object in two packs, of which one has been removed, whichever is found first.
TEST(BucketTier, WhatStandsTwiceIsFoundInWhateverOrderPacksAre) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  ASSERT_TRUE(first.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(first.Settle(first.tier->EndGroup(kTrack, {0, 1}, first.now)).ok());
  BucketNode second(bucket, 2);
  second.Start();
  ASSERT_TRUE(second.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(second.Settle(second.tier->EndGroup(kTrack, {0, 1}, second.now)).ok());
  ASSERT_TRUE(first.Settle(first.tier->Remove(kTrack, std::nullopt, first.now)).ok());
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
    EXPECT_EQ(fresh.Payload(kTrack, {0, 0}), "kv");
    ASSERT_TRUE(fresh.tier->FindGroup(kTrack, 0).has_value());
    EXPECT_TRUE(fresh.tier->FindGroup(kTrack, 0)->whole());
  } while (std::ranges::next_permutation(keys).found);
}

TEST(BucketTier, WhatStandsTwiceOutlivesDamageAndTheLossOfAPack) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  BucketNode second(bucket, 2);
  first.Start();
  second.Start();
  for (BucketNode* node : {&first, &second}) {
    ASSERT_TRUE(node->tier->Put(kTrack, BucketObject({0, 0}, "zero"), 17, node->now).ok());
    ASSERT_TRUE(node->Put(kTrack, BucketObject({0, 1}, "one")).ok());
  }
  BucketNode fresh(bucket, 3);
  fresh.Start();
  ASSERT_EQ(bucket.objects().size(), 2u);
  auto& pack = bucket.objects().rbegin()->second;
  const auto payload = AsBytes("zero");
  const auto at = std::search(pack.begin(), pack.end(), payload.begin(), payload.end());
  ASSERT_NE(at, pack.end());
  *at ^= std::byte{4};
  (void)fresh.Payload(kTrack, {0, 0});
  EXPECT_EQ(fresh.Payload(kTrack, {0, 0}), "zero");
  bucket.objects().erase(std::prev(bucket.objects().end()));
  (void)fresh.Payload(kTrack, {0, 1});
  EXPECT_EQ(fresh.Payload(kTrack, {0, 1}), "one");
  EXPECT_EQ(fresh.Payload(kTrack, {0, 0}), "zero");
}

TEST(BucketTier, AGroupThatIsPutAgainBeforeItsRemovalIsInTheBucketIsWhole) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kTrack, {0, 1}, node.now)).ok());
  ASSERT_TRUE(node.tier->Remove(kTrack, 0, node.now).ok());
  ASSERT_TRUE(node.tier->Put(kTrack, BucketObject({0, 0}, "kv"), 17, node.now).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kTrack, {0, 1}, node.now)).ok());
  ASSERT_TRUE(node.tier->FindGroup(kTrack, 0).has_value());
  EXPECT_TRUE(node.tier->FindGroup(kTrack, 0)->whole());
  // And the end of one that is removed is not told after it.
  const auto end = node.tier->EndGroup(kTrack, {1, 1}, node.now);
  ASSERT_TRUE(node.tier->Remove(kTrack, 1, node.now).ok());
  ASSERT_TRUE(node.Settle(end).ok());
  EXPECT_FALSE(node.tier->FindGroup(kTrack, 1).has_value());
}

// What an object tells of its track outlives its group.
TEST(BucketTier, TheLargestLocationIsKnownWhenItsGroupIsRemoved) {
  MemoryBucket bucket(1);
  BucketNode node(bucket, 9);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({7, 3}, "kv")).ok());
  BucketNode other(bucket, 1);  // Whose pack is listed first.
  other.Start();
  ASSERT_TRUE(other.Settle(other.tier->Remove(kTrack, 7, other.now)).ok());
  BucketNode fresh(bucket, 3);
  fresh.Start();
  ASSERT_NE(fresh.tier->FindTrack(kTrack), nullptr);
  EXPECT_EQ(fresh.tier->FindTrack(kTrack)->largest, (Location{7, 3}));
}

TEST(BucketTier, AMissIsAnsweredInTimeWhenTheBucketHangs) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().dead = true;
  const Instant asked = node.now;
  const auto ticket = node.tier->Get(kTrack, {0, 0}, node.now);
  node.Run();
  EXPECT_FALSE(node.reads.contains(*ticket));
  node.Wait(milliseconds(200));
  ASSERT_TRUE(node.reads.contains(*ticket));
  EXPECT_FALSE(node.reads.at(*ticket).has_value());
  EXPECT_EQ(node.now - asked, milliseconds(200));
  EXPECT_EQ(node.tier->counts().late, 1u);
}

TEST(BucketTier, ABucketThatIsAwayIsAskedOnceASecond) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().dead = true;
  Instant opened{};
  const Instant died = node.now;
  while (opened == Instant() && node.now < died + seconds(10)) {
    (void)node.tier->Get(kTrack, {0, 0}, node.now);
    node.Wait(milliseconds(100));
    opened = node.tier->away() ? node.now : Instant();
  }
  EXPECT_LE(opened - died, seconds(3));
  const uint64_t before = bucket.request_count();
  uint64_t refused = 0;
  for (int i = 0; i < 6000; ++i) {
    refused += node.tier->Get(kTrack, {0, 0}, node.now) ? 0u : 1u;
    node.Wait(milliseconds(100));
  }
  EXPECT_LE(bucket.request_count() - before, 601u);
  EXPECT_GT(bucket.request_count() - before, 300u);
  EXPECT_GT(refused, 3000u);
  bucket.faults().dead = false;
  node.Wait(seconds(2));
  (void)node.Get(kTrack, {0, 0});
  EXPECT_EQ(node.Payload(kTrack, {0, 0}), "kv");
  EXPECT_FALSE(node.tier->away());
}

TEST(BucketTier, UploadsQueueWithinABoundAndNothingIsAcknowledgedMeanwhile) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.queue_bytes_max = 200 << 10;
  node.Start();
  bucket.faults().dead = true;
  size_t taken = 0;
  Result<TierTicket> last(TierTicket{0});
  for (uint64_t i = 0; i < 1000 && last.ok(); ++i) {
    last = node.tier->Put(kTrack, BucketObject({0, i}, std::string(5000, 'x')), 0, node.now);
    taken += last.ok() ? 1u : 0u;
    node.Wait(milliseconds(10));
    EXPECT_LE(node.tier->queued_bytes(), node.options.queue_bytes_max + 6000);
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), ErrorCode::kTooLarge);
  EXPECT_TRUE(node.written.empty());
  node.Wait(seconds(60));
  EXPECT_TRUE(node.written.empty());
  EXPECT_TRUE(node.failed.empty());
  bucket.faults().dead = false;
  node.Wait(seconds(30));
  EXPECT_EQ(node.written.size(), taken);
  BucketNode fresh(bucket, 2);
  fresh.Start();
  EXPECT_EQ(fresh.tier->index().object_count(), taken);
}

TEST(BucketTier, WhatCannotBePutForTooLongFailsWithTheBucketsWords) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  bucket.faults().refuse = 1;
  const auto put = node.Put(kTrack, BucketObject({0, 0}, "kv"));
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code(), ErrorCode::kMachine);
  EXPECT_NE(put.error().message().find("Connection refused."), std::string::npos);
  EXPECT_EQ(node.tier->queued_bytes(), 0u);
  bucket.faults().refuse = 0;
  node.Wait(seconds(2));
  EXPECT_TRUE(node.Put(kTrack, BucketObject({0, 0}, "kv")).ok());
}

TEST(BucketTier, AStartWaitsForTheBucket) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  bucket.faults().dead = true;
  node.Start();
  node.Wait(minutes(10));
  EXPECT_FALSE(node.tier->ready());
  EXPECT_EQ(node.tier->Put(kTrack, BucketObject({0, 0}, "kv"), 0, node.now).error().code(),
            ErrorCode::kMachine);
  bucket.faults().dead = false;
  node.Wait(seconds(15));
  EXPECT_TRUE(node.tier->ready());
}

TEST(BucketTier, OldPacksGoWhenTheBudgetIsSpent) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 1000).Build();
  ASSERT_TRUE(node.Settle(node.tier->Describe(kTrack, facts, node.now)).ok());
  for (uint64_t i = 0; i < 60; ++i) {
    const auto put = node.Put(kTrack, BucketObject({i, 0}, std::string(20000, 'x')));
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
    EXPECT_NE(node.Payload(kTrack, {i, 0}).has_value(), gone.contains(i)) << i;
  }
  // What is known of the track outlives the pack that said it.
  node.Start();
  EXPECT_EQ(node.tier->FindTrack(kTrack)->properties, facts.properties);
  EXPECT_EQ(node.tier->FindTrack(kTrack)->largest, (Location{59, 0}));
}

// A removal's own pack stays as long as anything that it removed.
TEST(BucketTier, WhatWasRemovedDoesNotComeBackWhenPacksGo) {
  MemoryBucket bucket(1);
  BucketNode other(bucket, 2);
  other.Start();
  ASSERT_TRUE(other.Put(kTrack, BucketObject({1000, 0}, "kv")).ok());
  BucketNode node(bucket);
  node.options.bytes_max = 6 * BucketNode::kPackBytes;
  node.Start();
  ASSERT_TRUE(node.Settle(node.tier->Remove(kTrack, 1000, node.now)).ok());
  for (uint64_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(node.Put(kTrack, BucketObject({i, 0}, std::string(20000, 'x'))).ok());
  }
  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kTrack, {1000, 0}).has_value());
}

TEST(BucketBreaker, OpensAfterFailuresInARowOrOneThatLasts) {
  const Instant start{std::chrono::hours(1)};
  BucketBreaker breaker;
  for (int i = 0; i < 4; ++i) {
    breaker.OnFailure(start);
    EXPECT_TRUE(breaker.Allow(start));
  }
  breaker.OnSuccess();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(breaker.open());
    breaker.OnFailure(start);
  }
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.Allow(start + milliseconds(999)));
  EXPECT_TRUE(breaker.Allow(start + milliseconds(1000)));
  EXPECT_FALSE(breaker.Allow(start + milliseconds(1001)));
  breaker.OnSuccess();
  EXPECT_TRUE(breaker.Allow(start + milliseconds(1001)));
  breaker.OnFailure(start + seconds(2));
  EXPECT_TRUE(breaker.Allow(start + seconds(2)));
  EXPECT_FALSE(breaker.Allow(start + seconds(5)));
}

TEST(RetryDelay, GrowsUpToABoundAndNeverAlike) {
  Random random(1);
  Duration longest{};
  for (uint32_t attempt = 0; attempt < 100; ++attempt) {
    const Duration full = attempt < 7 ? milliseconds(100) * (1 << attempt) : Duration(seconds(10));
    const Duration delay = RetryDelay(attempt, milliseconds(100), seconds(10), random);
    EXPECT_LE(delay, std::min<Duration>(full, seconds(10)));
    EXPECT_GE(delay, std::min<Duration>(full, seconds(10)) / 2);
    longest = std::max(longest, delay);
  }
  EXPECT_GT(longest, seconds(9));
}

}  // namespace
}  // namespace kvcast
