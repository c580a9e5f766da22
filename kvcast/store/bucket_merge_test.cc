// Small packs of a node become large ones, and nobody notices but who counts packs.
#include <gtest/gtest.h>

#include <string>

#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/pack_merge.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

constexpr uint64_t kSmallPacks = 10;

std::string PayloadOf(uint64_t number) { return "kv of block " + std::to_string(number); }

// A node that leaves a pack for each block.
class BucketMerge : public testing::Test {
 protected:
  BucketMerge() : node_(bucket_) {
    node_.options.merge_every = seconds(10);
    node_.options.survey_every = seconds(5);
    node_.options.pack_bytes = 4 * BucketNode::kPackBytes;
    node_.Start();
  }

  void PutEachInAPackOfItsOwn() {
    TrackFacts facts;
    facts.properties = PropertiesBuilder().Number(2, 1000).Build();
    ASSERT_TRUE(node_.Settle(node_.tier->Describe(kBucketTrack, facts, node_.now)).ok());
    for (uint64_t block = 0; block < kSmallPacks; ++block) {
      const auto put = node_.tier->Put(kBucketTrack, BucketObject({block, 0}, PayloadOf(block)),
                                       block, node_.now);
      ASSERT_TRUE(put.ok());
      ASSERT_TRUE(node_.Settle(node_.tier->EndGroup(kBucketTrack, {block, 1}, node_.now)).ok());
    }
    ASSERT_EQ(bucket_.objects().size(), kSmallPacks + 1);
  }
  // What a machine finds that knows nothing but the bucket.
  void ExpectAllFoundIn(MemoryBucket bucket, const std::string& when) {
    BucketNode fresh(bucket, 9);
    fresh.Start();
    ASSERT_TRUE(fresh.tier->ready()) << when;
    for (uint64_t block = 0; block < kSmallPacks; ++block) {
      ASSERT_EQ(fresh.Payload(kBucketTrack, {block, 0}), PayloadOf(block)) << when;
      ASSERT_TRUE(fresh.tier->FindGroup(kBucketTrack, block)->whole()) << when;
    }
    ASSERT_EQ(fresh.Get(kBucketTrack, {3, 0})->received_us, 3u) << when;
    ASSERT_FALSE(fresh.tier->FindTrack(kBucketTrack)->properties.empty()) << when;
    ASSERT_EQ(fresh.tier->FindTrack(kBucketTrack)->largest, (Location{kSmallPacks - 1, 0})) << when;
  }

  MemoryBucket bucket_{1};
  BucketNode node_;
};

TEST_F(BucketMerge, PutsSmallPacksTogether) {
  PutEachInAPackOfItsOwn();
  node_.Wait(seconds(60));
  EXPECT_EQ(bucket_.objects().size(), 1u);
  EXPECT_EQ(node_.tier->counts().packs_merged, kSmallPacks + 1);
  EXPECT_EQ(node_.tier->counts().packs_gone, 0u);
  EXPECT_TRUE(node_.evicted.empty());
  for (uint64_t block = 0; block < kSmallPacks; ++block) {
    EXPECT_EQ(node_.Payload(kBucketTrack, {block, 0}), PayloadOf(block));
  }
  ExpectAllFoundIn(bucket_, "at the end");
  // A single one is not worth reading again.
  const uint64_t requests = node_.tier->counts().requests;
  node_.Wait(seconds(15));
  EXPECT_LE(node_.tier->counts().requests - requests, 3u) << "listings, and nothing else";
}

TEST_F(BucketMerge, LeavesThemAsTheyAreUnlessItIsToldTo) {
  node_.options.merge_every = Duration(0);
  node_.Start();
  PutEachInAPackOfItsOwn();
  node_.Wait(seconds(600));
  EXPECT_EQ(bucket_.objects().size(), kSmallPacks + 1);
}

// The new pack first, then the old ones go: so whenever the machine is lost, all is there.
TEST_F(BucketMerge, AMachineMayBeLostAtAnyTime) {
  PutEachInAPackOfItsOwn();
  std::string before = "none";
  size_t states = 0;
  for (int second = 0; second < 60; ++second) {
    node_.now += seconds(1);
    node_.side.OnTime(node_.now);
    node_.tier->OnTime(node_.now);
    bool more = true;
    while (more) {
      more = node_.Step();
      std::string keys;
      for (const auto& [key, bytes] : bucket_.objects()) {
        keys += key;
      }
      if (keys != before) {
        before = keys;
        ++states;
        ExpectAllFoundIn(bucket_, "after so many states: " + std::to_string(states));
      }
    }
  }
  EXPECT_EQ(bucket_.objects().size(), 1u);
  EXPECT_GT(states, kSmallPacks) << "old packs went one after the other";
}

// Who reads what another node has put knows the old packs, and hears of the new one in time.
TEST_F(BucketMerge, OtherNodesAreAnsweredAllTheTime) {
  PutEachInAPackOfItsOwn();
  BucketNode reader(bucket_, 2);
  reader.options.survey_every = seconds(5);
  reader.Start();
  for (int second = 0; second < 60; ++second) {
    node_.Wait(seconds(1));
    reader.Wait(seconds(1));
    for (uint64_t block = 0; block < kSmallPacks; ++block) {
      ASSERT_EQ(reader.Payload(kBucketTrack, {block, 0}), PayloadOf(block)) << second;
    }
  }
  EXPECT_EQ(bucket_.objects().size(), 1u);
  EXPECT_GT(reader.tier->counts().packs_gone, 0u) << "it noticed";
}

TEST_F(BucketMerge, LeavesOtherNodesPacksAlone) {
  PutEachInAPackOfItsOwn();
  BucketNode other(bucket_, 2);
  other.options.merge_every = seconds(10);
  other.options.survey_every = seconds(5);
  other.Start();
  other.Wait(seconds(120));
  EXPECT_EQ(bucket_.objects().size(), kSmallPacks + 1);
}

// A node that starts again and again leaves small packs, too: those of its earlier starts are its
// own.
TEST_F(BucketMerge, TakesPacksOfEarlierStarts) {
  PutEachInAPackOfItsOwn();
  node_.Start();
  node_.Wait(seconds(60));
  EXPECT_EQ(bucket_.objects().size(), 1u);
  EXPECT_TRUE(node_.evicted.empty());
  ExpectAllFoundIn(bucket_, "at the end");
}

TEST_F(BucketMerge, WhatWasRemovedDoesNotComeBack) {
  PutEachInAPackOfItsOwn();
  ASSERT_TRUE(node_.Settle(node_.tier->Remove(kBucketTrack, 4, node_.now)).ok());
  node_.Wait(seconds(120));
  EXPECT_LE(bucket_.objects().size(), 2u) << "a removal stays while there is what it removes";
  for (BucketNode* const node : {&node_, static_cast<BucketNode*>(nullptr)}) {
    BucketNode fresh(bucket_, 9);
    fresh.Start();
    BucketNode& asked = node == nullptr ? fresh : *node;
    EXPECT_FALSE(asked.Payload(kBucketTrack, {4, 0}).has_value());
    EXPECT_EQ(asked.Payload(kBucketTrack, {5, 0}), PayloadOf(5));
  }
}

// It was said before the new pack was there, and reaches what is in it.
TEST_F(BucketMerge, ARemovalReachesWhatIsOnItsWay) {
  PutEachInAPackOfItsOwn();
  while (bucket_.objects().size() == kSmallPacks + 1) {
    ASSERT_LT(node_.now, Instant(std::chrono::hours(2)));
    node_.now += seconds(1);
    node_.side.OnTime(node_.now);
    node_.tier->OnTime(node_.now);
    for (BucketRequest& request : node_.tier->TakeRequests(node_.now)) {
      if (request.kind == BucketRequest::Kind::kPut) {
        ASSERT_TRUE(node_.tier->Remove(kBucketTrack, 4, node_.now).ok());
      }
      node_.side.Submit(std::move(request));
    }
    while (auto completion = node_.side.Next()) {
      node_.tier->OnCompletion(*std::move(completion), node_.now);
    }
  }
  node_.Wait(seconds(120));
  EXPECT_FALSE(node_.Payload(kBucketTrack, {4, 0}).has_value());
  BucketNode fresh(bucket_, 9);
  fresh.Start();
  EXPECT_FALSE(fresh.Payload(kBucketTrack, {4, 0}).has_value());
  EXPECT_EQ(fresh.Payload(kBucketTrack, {5, 0}), PayloadOf(5));
}

TEST_F(BucketMerge, APackThatComesDamagedStaysAndCostsNothingElse) {
  PutEachInAPackOfItsOwn();
  std::string key;
  for (auto& [its_key, bytes] : bucket_.objects()) {
    const size_t at = AsText(bytes).find(PayloadOf(4));
    if (at != std::string_view::npos) {
      key = its_key;
      bytes[at] ^= std::byte{1};
    }
  }
  node_.Wait(seconds(120));
  EXPECT_EQ(bucket_.objects().size(), 2u);
  EXPECT_TRUE(bucket_.objects().contains(key));
  EXPECT_TRUE(node_.evicted.empty());
}

// An upload that fails costs an attempt.
TEST_F(BucketMerge, NothingGoesWhereTheNewPackDoesNotArrive) {
  PutEachInAPackOfItsOwn();
  node_.options.upload_patience = seconds(5);
  node_.Start();
  const size_t packs = bucket_.objects().size();
  for (int second = 0; second < 100; ++second) {
    node_.now += seconds(1);
    node_.side.OnTime(node_.now);
    node_.tier->OnTime(node_.now);
    for (BucketRequest& request : node_.tier->TakeRequests(node_.now)) {
      // One that is put does not arrive, and nobody says so.
      if (request.kind != BucketRequest::Kind::kPut) {
        node_.side.Submit(std::move(request));
      }
    }
    while (auto completion = node_.side.Next()) {
      node_.tier->OnCompletion(*std::move(completion), node_.now);
    }
    node_.TakeEvents();
  }
  EXPECT_EQ(bucket_.objects().size(), packs);
  EXPECT_TRUE(node_.evicted.empty());
  ExpectAllFoundIn(bucket_, "without it");
}

PackTable TableOf(const std::vector<uint64_t>& sizes) {
  PackTable table;
  for (const uint64_t bytes : sizes) {
    Pack pack;
    pack.id = {table.node, table.last_own + 1, 1};
    pack.key = pack.id.Key("kv");
    pack.bytes = bytes;
    table.Add(pack);
  }
  return table;
}
std::vector<uint32_t> ChosenOf(const std::vector<uint64_t>& sizes) {
  return PackMerge::Choose(TableOf(sizes), {4, 1000}, [](uint32_t, const Pack&) { return true; });
}

TEST(PackMergeChoice, TakesTheSmallestThatFitTogether) {
  EXPECT_EQ(ChosenOf({10, 10, 10}), std::vector<uint32_t>());
  EXPECT_EQ(ChosenOf({10, 10, 10, 10}), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(ChosenOf({400, 300, 200, 300, 150, 300}), (std::vector<uint32_t>{5, 3, 2, 4}));
  EXPECT_EQ(ChosenOf({600, 10, 10, 10, 10}), (std::vector<uint32_t>{2, 3, 4, 5}))
      << "a pack is small that is no more than half of what a merge may hold";
}

// Else a large pack would be written again for each handful of small ones that comes.
TEST(PackMergeChoice, TakesNoneThatIsLargerThanAllOthers) {
  EXPECT_EQ(ChosenOf({200, 10, 10, 10, 10}), (std::vector<uint32_t>{2, 3, 4, 5}));
  EXPECT_EQ(ChosenOf({40, 10, 10, 10, 10}), (std::vector<uint32_t>{2, 3, 4, 5, 1}));
  EXPECT_EQ(ChosenOf({100, 10, 10, 10}), std::vector<uint32_t>());
}

}  // namespace
}  // namespace kvcast
