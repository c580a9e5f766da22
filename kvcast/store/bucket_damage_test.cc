// A bucket that gives back something else than was put: for a while, or for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A bit of the first pack that says so.
void Damage(MemoryBucket& bucket, std::string_view text) {
  const auto wanted = AsBytes(text);
  for (auto& [key, pack] : bucket.objects()) {
    const auto at = std::search(pack.begin(), pack.end(), wanted.begin(), wanted.end());
    if (at != pack.end()) {
      *at ^= std::byte{4};
      return;
    }
  }
  FAIL() << "there is no " << text;
}

size_t Said(const BucketNode& node, std::string_view event) {
  return static_cast<size_t>(std::ranges::count(node.log.records(), event, &LogRecord::event));
}

TEST(BucketDamage, WhatCameGarbledWhenANodeStartedIsFoundLater) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({i, 0}, "kv"), 17, node.now).ok());
    ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {i, 1}, node.now)).ok());
  }
  BucketNode fresh(bucket, 2);
  bucket.faults().garble = 1;
  fresh.Start();
  ASSERT_TRUE(fresh.tier->ready());
  EXPECT_EQ(fresh.tier->index().object_count(), 0u);
  ASSERT_EQ(fresh.tier->passed_over().size(), 20u);
  EXPECT_TRUE(fresh.tier->passed_over().front().why.starts_with("came damaged"));
  fresh.Wait(minutes(2));
  EXPECT_EQ(fresh.tier->index().object_count(), 0u);
  bucket.faults().garble = 0;
  fresh.Wait(minutes(10));
  EXPECT_EQ(fresh.tier->index().object_count(), 20u);
  EXPECT_EQ(fresh.arrived.size(), 20u);
  EXPECT_TRUE(fresh.evicted.empty());
  EXPECT_TRUE(fresh.tier->passed_over().empty());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {7, 0}), "kv");
}

// Its records tell what it holds, and cost as much to read as the whole pack.
TEST(BucketDamage, APackThatIsDamagedForGoodIsReadAFewTimesAndThenSeldom) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, std::string(50'000, 'x'))).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "kv")).ok());
  bucket.objects().begin()->second.back() ^= std::byte{1};
  BucketNode fresh(bucket, 2);
  fresh.options.survey_every = hours(1);
  fresh.Start();
  EXPECT_EQ(fresh.tier->index().object_count(), 2u);
  fresh.Wait(hours(24));
  EXPECT_EQ(Said(fresh, "pack damaged"), 1u);
  ASSERT_EQ(fresh.tier->passed_over().size(), 1u);
  EXPECT_EQ(fresh.tier->passed_over().front().key, bucket.objects().begin()->first);
  const uint64_t read = fresh.tier->counts().bytes_read;
  EXPECT_LT(read, 20 * BucketNode::kPackBytes);
  fresh.Wait(hours(24));
  EXPECT_LT(fresh.tier->counts().bytes_read, read + 10 * BucketNode::kPackBytes)
      << "every six hours, its end alone";
  EXPECT_TRUE(fresh.evicted.empty());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}), std::string(50'000, 'x'));
}

TEST(BucketDamage, APackThatIsGoneWhenItIsLookedAtAgainIsDropped) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.objects().begin()->second.back() ^= std::byte{1};
  node.Start();
  ASSERT_EQ(node.tier->packs().packs.size(), 1u);
  bucket.objects().clear();
  node.Wait(seconds(10));
  EXPECT_TRUE(node.tier->packs().packs.empty());
  EXPECT_EQ(node.tier->counts().packs_gone, 1u);
  EXPECT_EQ(node.evicted.size(), 1u);
}

// How far removals reach stands at the end of their pack.
TEST(BucketDamage, RemovalsReachAsFarAsTheirPackSaysWhenItComesRight) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  BucketNode second(bucket, 2);
  second.Start();
  ASSERT_TRUE(second.Settle(second.tier->Remove(kBucketTrack, 0, second.now)).ok());
  std::byte& last = bucket.objects().rbegin()->second.back();
  last ^= std::byte{1};
  BucketNode fresh(bucket, 3);
  fresh.Start();
  EXPECT_EQ(fresh.tier->index().object_count(), 1u);
  last ^= std::byte{1};
  fresh.Wait(seconds(10));
  EXPECT_EQ(fresh.tier->index().object_count(), 0u);
}

TEST(BucketDamage, WhatIsBeingRemovedDoesNotComeBackWithItsPack) {
  MemoryBucket bucket(1);
  BucketNode first(bucket, 1);
  first.Start();
  ASSERT_TRUE(first.tier->Put(kBucketTrack, BucketObject({0, 0}, "a"), 17, first.now).ok());
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({1, 0}, "b")).ok());
  bucket.faults().garble = 1;
  BucketNode second(bucket, 2);
  second.Start();
  second.Wait(seconds(3));
  bucket.faults().garble = 0;
  const auto removed = second.tier->Remove(kBucketTrack, 0, second.now);
  second.tier->Flush(second.now);
  bucket.faults().dead = true;  // So that it waits.
  second.Run();
  bucket.faults().dead = false;
  second.Wait(seconds(5));
  EXPECT_FALSE(second.written.contains(*removed));
  EXPECT_FALSE(second.tier->FindGroup(kBucketTrack, 0).has_value());
  EXPECT_TRUE(second.tier->FindGroup(kBucketTrack, 1).has_value());
  ASSERT_TRUE(second.Settle(removed).ok());
  EXPECT_FALSE(second.tier->FindGroup(kBucketTrack, 0).has_value());
  EXPECT_EQ(second.Payload(kBucketTrack, {1, 0}), "b");
}

TEST(BucketDamage, ARecordThatCameWrongIsAMissUntilItComesRight) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {0, 1}, node.now)).ok());
  bucket.faults().garble = 1;
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  // At once, and without another request.
  const uint64_t requests = bucket.request_count();
  const auto ticket = node.tier->Get(kBucketTrack, {0, 0}, node.now);
  ASSERT_TRUE(ticket.has_value());
  node.TakeEvents();
  ASSERT_TRUE(node.reads.contains(*ticket));
  EXPECT_FALSE(node.reads.at(*ticket).has_value());
  EXPECT_EQ(bucket.request_count(), requests);
  // What stands there is known all the same.
  EXPECT_EQ(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "no"), 17, node.now).error().code(),
            ErrorCode::kMismatch);
  node.Wait(minutes(1));
  bucket.faults().garble = 0;
  node.Wait(minutes(10));
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
  EXPECT_TRUE(node.tier->FindGroup(kBucketTrack, 0)->whole());
  EXPECT_TRUE(node.evicted.empty());
}

TEST(BucketDamage, ARecordThatIsDamagedForGoodIsToldAndForgotten) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.survey_every = Duration(0);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "payload")).ok());
  Damage(bucket, "payload");
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  const uint64_t before = bucket.request_count();
  node.Wait(hours(24));
  EXPECT_LE(bucket.request_count() - before, 12u);
  ASSERT_EQ(node.evicted.size(), 1u);
  EXPECT_FALSE(node.tier->FindGroup(kBucketTrack, 0).has_value());
  const uint64_t later = bucket.request_count();
  node.Wait(hours(24));
  EXPECT_LE(bucket.request_count() - later, 5u);
}

// Garbage may last for hours, and end.
TEST(BucketDamage, WhatWasGivenUpIsFoundAgainWhenItComesRightAtLast) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(4, 1000).Build();
  ASSERT_TRUE(node.tier->Describe(kBucketTrack, facts, node.now).ok());
  for (const uint64_t group : {0u, 1u, 2u}) {
    ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({group, 0}, "kv"), 17, node.now).ok());
    ASSERT_TRUE(node.Settle(node.tier->EndGroup(kBucketTrack, {group, 1}, node.now)).ok());
  }
  bucket.faults().garble = 1;
  for (const uint64_t group : {0u, 1u, 2u}) {
    EXPECT_FALSE(node.Payload(kBucketTrack, {group, 0}).has_value());
  }
  BucketNode fresh(bucket, 2);
  fresh.now = node.now;
  fresh.Start();
  node.Wait(hours(3));
  fresh.Wait(hours(3));
  EXPECT_EQ(node.tier->index().object_count(), 0u);
  EXPECT_EQ(node.evicted.size(), 3u);
  EXPECT_EQ(fresh.tier->index().object_count(), 0u);
  // One is removed meanwhile, and one is put again.
  bucket.faults().garble = 0;
  ASSERT_TRUE(node.Settle(node.tier->Remove(kBucketTrack, 1, node.now)).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({2, 0}, "kv")).ok());
  node.Wait(hours(12));
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
  ASSERT_TRUE(node.tier->FindGroup(kBucketTrack, 0).has_value());
  EXPECT_TRUE(node.tier->FindGroup(kBucketTrack, 0)->whole());
  ASSERT_EQ(node.arrived.size(), 1u);
  EXPECT_EQ(node.arrived.front().group, 0u);
  EXPECT_FALSE(node.tier->FindGroup(kBucketTrack, 1).has_value());
  EXPECT_EQ(node.Payload(kBucketTrack, {2, 0}), "kv");
  fresh.Wait(hours(12));
  EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}), "kv");
}

// What may be damaged is not durable.
TEST(BucketDamage, APutOfWhatCameWrongIsWrittenAgain) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "payload")).ok());
  Damage(bucket, "payload");
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "payload")).ok());
  EXPECT_EQ(bucket.put_count(), 2u);
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "payload");
  node.Wait(hours(24));
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "payload");
  EXPECT_TRUE(node.evicted.empty());
}

// Garbage that lasts must not fill the memory.
TEST(BucketDamage, OfRecordsThatCameWrongOnlySoManyAreRemembered) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.read_bytes_max = 1 << 30;
  node.Start();
  constexpr uint64_t kObjects = PackDoubts::kRecordsMax + 10;
  for (uint64_t i = 0; i < kObjects; ++i) {
    ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({i, 0}, "kv"), 17, node.now).ok());
    node.Run();
  }
  node.Wait(seconds(2));
  ASSERT_EQ(node.written.size(), kObjects);
  bucket.faults().garble = 1;
  for (uint64_t i = 0; i < kObjects; ++i) {
    ASSERT_TRUE(node.tier->Get(kBucketTrack, {i, 0}, node.now).has_value());
  }
  node.Run();
  EXPECT_EQ(node.tier->index().object_count(), kObjects);
  bucket.faults().garble = 0;
  node.Wait(minutes(10));
  for (const uint64_t i : {uint64_t{0}, kObjects / 2, kObjects - 1}) {
    EXPECT_EQ(node.Payload(kBucketTrack, {i, 0}), "kv") << i;
  }
}

// A bucket with room for a few packs, and something wrong with the first when the others come.
class CrowdedBucketDamage : public testing::Test {
 protected:
  void SetUp() override {
    node_.options.bytes_max = 6 * BucketNode::kPackBytes;
    node_.Start();
    PutGroups(0, 1);
  }
  void PutGroups(uint64_t first, uint64_t behind) {
    for (uint64_t i = first; i < behind; ++i) {
      ASSERT_TRUE(node_.Put(kBucketTrack, BucketObject({i, 0}, std::string(20'000, 'x'))).ok());
    }
  }
  // The first has gone, and each of so many is here or was told to have gone.
  void ExpectHereOrTold(uint64_t groups) {
    EXPECT_FALSE(node_.tier->FindGroup(kBucketTrack, 0).has_value());
    std::set<uint64_t> told;
    for (const EvictedGroup& group : node_.evicted) {
      told.insert(group.group);
    }
    for (uint64_t i = 0; i < groups; ++i) {
      EXPECT_NE(node_.tier->FindGroup(kBucketTrack, i).has_value(), told.contains(i)) << i;
    }
  }

  MemoryBucket bucket_{1};
  BucketNode node_{bucket_};
};

TEST_F(CrowdedBucketDamage, WhatWentIsToldWhenAPackIsGoneBeforeItsRoomIsWanted) {
  bucket_.objects().clear();
  PutGroups(1, 30);
  ExpectHereOrTold(30);
}

TEST_F(CrowdedBucketDamage, WhatWentIsToldWhenAPackIsDamagedBeforeItsRoomIsWanted) {
  std::vector<std::byte>& pack = bucket_.objects().begin()->second;
  pack.back() ^= std::byte{1};                    // Its end,
  pack[kDeviceBlockBytes + 300] ^= std::byte{1};  // and its only record.
  PutGroups(1, 40);
  ExpectHereOrTold(40);
}

// A server that says so itself, for it has less than is asked for.
TEST(BucketDamage, WhatWasCutOffIsWrittenAgainWhenItIsPut) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.survey_every = Duration(0);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "payload")).ok());
  bucket.objects().begin()->second.resize(kDeviceBlockBytes + 20);
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_EQ(node.tier->counts().damaged, 1u);
  node.Wait(hours(24));
  EXPECT_TRUE(node.tier->idle());
  EXPECT_EQ(node.evicted.size(), 1u);
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "payload")).ok());
  EXPECT_EQ(bucket.put_count(), 2u);
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "payload");
}

// Records that are asked for together are read by one request, of which one may be to blame.
TEST(BucketDamage, WhatWasCutOffDoesNotCostWhatIsReadWithIt) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.survey_every = Duration(0);
  node.Start();
  ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "first"), 17, node.now).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 1}, "second")).ok());
  ASSERT_EQ(bucket.put_count(), 1u);
  const auto second = node.tier->index().Find(kBucketTrack, {0, 1});
  bucket.objects().begin()->second.resize(second->place.offset + second->length - 1);
  const auto whole = node.tier->Get(kBucketTrack, {0, 0}, node.now);
  const auto cut = node.tier->Get(kBucketTrack, {0, 1}, node.now);
  ASSERT_TRUE(whole && cut);
  node.Run();
  node.Wait(node.options.get_patience);
  ASSERT_TRUE(node.reads.at(*whole).has_value());
  EXPECT_EQ(node.reads.at(*whole)->object.payload.ToString(), "first");
  EXPECT_FALSE(node.reads.at(*cut).has_value());
  node.Wait(hours(24));
  EXPECT_TRUE(node.tier->index().Find(kBucketTrack, {0, 0}).has_value());
  EXPECT_FALSE(node.tier->index().Find(kBucketTrack, {0, 1}).has_value());
}

// Wherever it was cut: its name says that it is one.
TEST(BucketDamage, APackThatWasCutShortGivesWhatIsLeftOfIt) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "first"), 17, node.now).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "second")).ok());
  const auto second = node.tier->index().Find(kBucketTrack, {1, 0});
  auto& pack = bucket.objects().begin()->second;
  for (const uint64_t bytes : {pack.size() - 1, second->place.offset + 3,
                               kDeviceBlockBytes + uint64_t{9}, uint64_t{70}, uint64_t{0}}) {
    pack.resize(bytes);
    BucketNode fresh(bucket, 2);
    fresh.Start();
    fresh.Wait(minutes(1));  // What comes damaged is read once more.
    ASSERT_TRUE(fresh.tier->ready()) << bytes;
    EXPECT_EQ(fresh.tier->counts().foreign, 0u) << bytes;
    ASSERT_EQ(fresh.tier->passed_over().size(), 1u) << bytes;
    EXPECT_TRUE(fresh.tier->passed_over().front().why.starts_with("came damaged"));
    const bool first_is_left = bytes > second->place.offset;
    EXPECT_EQ(fresh.Payload(kBucketTrack, {0, 0}).has_value(), first_is_left) << bytes;
    const bool second_is_left = bytes >= second->place.offset + second->length;
    EXPECT_EQ(fresh.Payload(kBucketTrack, {1, 0}).has_value(), second_is_left) << bytes;
    fresh.Wait(hours(24));
    EXPECT_TRUE(fresh.tier->idle()) << bytes;
  }
}

// With properties, and an end, that nothing but the first pack says; the others have objects.
class LostFacts : public testing::Test {
 protected:
  LostFacts() { facts_.properties = PropertiesBuilder().Number(4, 1000).Build(); }

  void PutPacks() {
    ASSERT_TRUE(node_.tier->Describe(kBucketTrack, facts_, node_.now).ok());
    const Object large = BucketObject({0, 0}, std::string(40'000, 'a'));
    ASSERT_TRUE(node_.tier->Put(kBucketTrack, large, 17, node_.now).ok());
    ASSERT_TRUE(node_.Settle(node_.tier->EndGroup(kBucketTrack, {1, 2}, node_.now)).ok());
    ASSERT_EQ(bucket_.objects().size(), 1u);
    first_ = bucket_.objects().begin()->first;
    ASSERT_TRUE(node_.tier->Put(kBucketTrack, BucketObject({1, 0}, "b"), 17, node_.now).ok());
    ASSERT_TRUE(node_.Put(kBucketTrack, BucketObject({1, 1}, "c")).ok());
  }
  void ExpectKnownAfterAStart() {
    node_.Start();
    ASSERT_EQ(node_.Payload(kBucketTrack, {1, 0}), "b");
    EXPECT_EQ(node_.tier->FindTrack(kBucketTrack)->properties, facts_.properties);
    EXPECT_TRUE(node_.tier->FindGroup(kBucketTrack, 1)->whole());
  }

  MemoryBucket bucket_{1};
  BucketNode node_{bucket_};
  TrackFacts facts_;
  std::string first_;
};

TEST_F(LostFacts, AreWrittenAgainWithTheNextPutWhenTheirPackIsGone) {
  node_.Start();
  PutPacks();
  bucket_.objects().erase(first_);
  EXPECT_FALSE(node_.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_FALSE(node_.tier->Covers(kBucketTrack, facts_));
  ASSERT_TRUE(node_.Put(kBucketTrack, BucketObject({2, 0}, "d")).ok());
  EXPECT_TRUE(node_.tier->Covers(kBucketTrack, facts_));
  ExpectKnownAfterAStart();
}

TEST_F(LostFacts, AreWrittenAgainWhenTheirPackIsGoneBeforeItsRoomIsWanted) {
  node_.options.bytes_max = 6 * BucketNode::kPackBytes;
  node_.Start();
  PutPacks();
  bucket_.objects().erase(first_);
  for (uint64_t i = 0; node_.tier->counts().packs_removed == 0; ++i) {
    ASSERT_LT(i, 100u);
    ASSERT_TRUE(node_.Put(BucketTrack("other"), BucketObject({i, 0}, "x")).ok());
  }
  ExpectKnownAfterAStart();
}

TEST_F(LostFacts, OfATrackWithoutObjectsAreForgotten) {
  node_.Start();
  PutPacks();
  bucket_.objects().clear();
  EXPECT_FALSE(node_.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_FALSE(node_.Payload(kBucketTrack, {1, 0}).has_value());
  EXPECT_EQ(node_.tier->FindTrack(kBucketTrack), nullptr);
  const uint64_t puts = bucket_.put_count();
  node_.tier->Flush(node_.now);
  node_.Wait(seconds(5));
  EXPECT_EQ(bucket_.put_count(), puts);
}

}  // namespace
}  // namespace kvcast
