#include "kvcast/kv/index_feed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/base/sanitized_test.h"
#include "kvcast/catalog/writer.h"
#include "kvcast/kv/held_bytes_test.h"

namespace kvcast {
namespace {

TrackName Name(std::string_view name) { return *TrackName::Of(TrackNamespace(), name); }
BlockHash FedHash(uint64_t number) { return Sha256::Of(std::to_string(number)); }

size_t Leading(const PrefixIndex& index, size_t blocks) {
  std::vector<BlockHash> hashes;
  for (size_t i = 0; i < blocks; ++i) {
    hashes.push_back(FedHash(i));
  }
  return index.LongestMatch(hashes).leading();
}

TEST(IndexFeed, FollowsACatalog) {
  PrefixIndex index;
  CatalogWriter writer;
  const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index);
  const auto deliver = [&] {
    for (const Object& object : writer.TakeObjects()) {
      ASSERT_TRUE(feed->OnObject(object.location, object.payload).ok());
    }
  };
  ASSERT_TRUE(writer.Add(Name("a"), 0, FedHash(0), 10).ok());
  deliver();
  EXPECT_TRUE(feed->synced());
  EXPECT_EQ(Leading(index, 3), 1u);
  ASSERT_TRUE(writer.Add(Name("a"), 1, FedHash(1), 10).ok());
  ASSERT_TRUE(writer.Add(Name("b"), 2, FedHash(2), 10).ok());
  deliver();
  EXPECT_EQ(Leading(index, 3), 3u);
  writer.Remove(Name("a"), 1);
  deliver();
  EXPECT_EQ(Leading(index, 3), 1u);
  writer.Drop(Name("a"));
  deliver();
  EXPECT_EQ(Leading(index, 3), 0u);
  EXPECT_EQ(index.source_count(), 1u);
  writer.StartEpoch();
  deliver();
  EXPECT_EQ(index.source_count(), 1u);
}

TEST(IndexFeed, ForgetsItsNodeWhenItGoes) {
  PrefixIndex index;
  {
    CatalogWriter writer;
    ASSERT_TRUE(writer.Add(Name("a"), 0, FedHash(0), 10).ok());
    const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index);
    const Object snapshot = writer.TakeObjects()[0];
    ASSERT_TRUE(feed->OnObject(snapshot.location, snapshot.payload).ok());
    EXPECT_EQ(index.source_count(), 1u);
  }
  EXPECT_EQ(index.source_count(), 0u);
}

// A catalog that contradicts itself is not half believed.
TEST(IndexFeed, ForgetsWhatABrokenCatalogSaid) {
  PrefixIndex index;
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(Name("a"), 0, FedHash(0), 10).ok());
  const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index);
  const Object snapshot = writer.TakeObjects()[0];
  ASSERT_TRUE(feed->OnObject(snapshot.location, snapshot.payload).ok());
  CatalogObject lie;
  lie.records = {AddRecord{0, 1, 10, FedHash(1)}, AddRecord{0, 0, 10, FedHash(9)}};
  EXPECT_FALSE(feed->OnObject({0, 1}, lie.Encode()).ok());
  EXPECT_EQ(index.source_count(), 0u);
  lie.records = {AddRecord{0, 2, 10, FedHash(2)}};
  EXPECT_TRUE(feed->OnObject({0, 2}, lie.Encode()).ok());  // Ignored until the next epoch.
  EXPECT_EQ(index.source_count(), 0u);
  writer.StartEpoch();
  const Object next = writer.TakeObjects()[0];
  ASSERT_TRUE(feed->OnObject(next.location, next.payload).ok());
  EXPECT_EQ(index.source_count(), 1u);
}

// One node that lists more than there is room for must not cost the others what they listed.
TEST(IndexFeed, LeavesOutWhatHasNoRoomAndSparesEverybodyElse) {
  PrefixIndex index(200000);
  const std::unique_ptr<IndexFeed> honest = *IndexFeed::Open(index);
  const std::unique_ptr<IndexFeed> greedy = *IndexFeed::Open(index);
  CatalogWriter honest_writer;
  for (uint64_t group = 0; group < 20; ++group) {
    ASSERT_TRUE(honest_writer.Add(Name("honest"), group, FedHash(group), 10).ok());
  }
  const Object honest_snapshot = honest_writer.TakeObjects()[0];
  ASSERT_TRUE(honest->OnObject(honest_snapshot.location, honest_snapshot.payload).ok());
  CatalogWriter greedy_writer;
  for (uint64_t group = 0; group < 5000; ++group) {
    ASSERT_TRUE(greedy_writer.Add(Name("greedy"), group, FedHash(1000 + group), 10).ok());
  }
  for (const Object& object : greedy_writer.TakeObjects()) {
    ASSERT_TRUE(greedy->OnObject(object.location, object.payload).ok());
  }
  EXPECT_GT(greedy->left_out(), 1000u);
  EXPECT_EQ(honest->left_out(), 0u);
  EXPECT_EQ(Leading(index, 30), 20u);
  ASSERT_TRUE(honest_writer.Add(Name("honest"), 20, FedHash(20), 10).ok());
  honest_writer.Remove(Name("honest"), 0);
  const Object delta = honest_writer.TakeObjects()[0];
  ASSERT_TRUE(honest->OnObject(delta.location, delta.payload).ok());
  EXPECT_EQ(Leading(index, 30), 0u);  // Its removal was heard, full or not.
}

// A node can name a million tracks, and a client follow a thousand nodes: past the index's bytes
// nothing may be kept of any of them, not even a number.
TEST(IndexFeed, KeepsNothingOfTracksThatHaveNoRoom) {
  if (kSanitized) {
    GTEST_SKIP() << "sanitizers replace the allocator that would be asked";
  }
  constexpr size_t kBudget = 200000;
  constexpr uint32_t kTracksEach = 5000;
  const size_t before = HeldBytes();
  const auto index = std::make_unique<PrefixIndex>(kBudget);
  std::vector<std::unique_ptr<IndexFeed>> feeds(4);
  uint64_t left_out = 0;
  for (std::unique_ptr<IndexFeed>& feed : feeds) {
    feed = *IndexFeed::Open(*index);
    for (uint32_t part = 0; part < kTracksEach / 100; ++part) {
      CatalogObject object{part == 0 ? CatalogKind::kSnapshot : CatalogKind::kDelta, 0, 1, {}};
      for (uint32_t i = 0; i < 100; ++i) {
        const uint32_t id = part * 100 + i;
        object.records.push_back(TrackRecord{id, Name("track " + std::to_string(id))});
      }
      ASSERT_TRUE(feed->OnObject({0, part}, object.Encode()).ok());
    }
    left_out += feed->left_out();
  }
  EXPECT_EQ(left_out + index->track_count(), 4 * kTracksEach);
  EXPECT_GT(left_out, 3 * kTracksEach);
  constexpr size_t kFeedBytes = 512;
  EXPECT_LE(HeldBytes() - before, kBudget + feeds.size() * kFeedBytes);
}

// What a node says of a track that was left out is heard and not believed; once it has dropped
// them all, a number that is not defined is a lie again.
TEST(IndexFeed, PassesOverWhatIsSaidOfTracksLeftOut) {
  PrefixIndex index(5000);  // Room for a node and no track.
  const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index);
  CatalogObject object;
  object.records = {TrackRecord{0, Name("a")}, TrackRecord{1, Name("b")},
                    AddRecord{0, 0, 10, FedHash(0)}, RemoveRecord{0, 0}, DropRecord{0}};
  object.kind = CatalogKind::kSnapshot;
  object.parts = 1;
  ASSERT_TRUE(feed->OnObject({0, 0}, object.Encode()).ok());
  EXPECT_EQ(feed->left_out(), 3u);
  EXPECT_EQ(index.track_count(), 0u);
  const auto says = [&](uint64_t at, const CatalogRecord& record) {
    CatalogObject delta;
    delta.records = {record};
    return feed->OnObject({0, at}, delta.Encode()).ok();
  };
  EXPECT_TRUE(says(1, AddRecord{1, 0, 10, FedHash(0)}));
  EXPECT_TRUE(says(2, DropRecord{1}));
  EXPECT_FALSE(says(3, AddRecord{1, 1, 10, FedHash(1)}));
}

// So that a node cannot be heard for ever about more tracks than it may name.
TEST(IndexFeed, CountsTracksLeftOutAmongThoseANodeMayName) {
  PrefixIndex index(5000);  // The same.
  const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index, {.tracks_max = 2});
  CatalogObject object{CatalogKind::kSnapshot, 0, 1, {}};
  object.records = {TrackRecord{0, Name("a")}, TrackRecord{1, Name("b")}};
  ASSERT_TRUE(feed->OnObject({0, 0}, object.Encode()).ok());
  CatalogObject delta;
  delta.records = {TrackRecord{2, Name("c")}};
  EXPECT_FALSE(feed->OnObject({0, 1}, delta.Encode()).ok());
}

TEST(IndexFeed, HoldsEachNodeToItsLimits) {
  PrefixIndex index;
  const std::unique_ptr<IndexFeed> feed =
      *IndexFeed::Open(index, {.tracks_max = 2, .blocks_max = 3});
  CatalogWriter writer;
  for (uint64_t group = 0; group < 5; ++group) {
    ASSERT_TRUE(writer.Add(Name("a"), group, FedHash(group), 10).ok());
  }
  const Object snapshot = writer.TakeObjects()[0];
  ASSERT_TRUE(feed->OnObject(snapshot.location, snapshot.payload).ok());
  EXPECT_EQ(index.source_count(), 3u);
  EXPECT_EQ(feed->left_out(), 2u);
  writer.Remove(Name("a"), 0);  // Makes room for one more.
  ASSERT_TRUE(writer.Add(Name("a"), 5, FedHash(5), 10).ok());
  const Object delta = writer.TakeObjects()[0];
  ASSERT_TRUE(feed->OnObject(delta.location, delta.payload).ok());
  EXPECT_EQ(index.source_count(), 3u);
  for (const char* name : {"b", "c"}) {
    ASSERT_TRUE(writer.Add(Name(name), 0, FedHash(9), 10).ok());
  }
  const Object third = writer.TakeObjects()[0];
  EXPECT_FALSE(feed->OnObject(third.location, third.payload).ok());
  EXPECT_EQ(index.source_count(), 0u);
}

TEST(IndexFeed, RefusesNumbersThatStandForNothing) {
  for (const CatalogRecords& records :
       {CatalogRecords{AddRecord{0, 0, 1, FedHash(0)}}, CatalogRecords{DropRecord{0}},
        CatalogRecords{TrackRecord{1, Name("a")}, TrackRecord{0, Name("b")}},
        CatalogRecords{TrackRecord{1, Name("a")}, DropRecord{1}, RemoveRecord{1, 0}}}) {
    PrefixIndex index;
    const std::unique_ptr<IndexFeed> feed = *IndexFeed::Open(index);
    const CatalogObject object{CatalogKind::kSnapshot, 0, 1, records};
    const Result<void> taken = feed->OnObject({0, 0}, object.Encode());
    ASSERT_FALSE(taken.ok());
    // Where to look: the last record of each.
    EXPECT_TRUE(taken.error().ToString().starts_with(
        "catalog object {0, 0}, record " + std::to_string(records.size() - 1) + ": Track number"))
        << taken.error().ToString();
    EXPECT_EQ(index.track_count(), 0u);
  }
}

}  // namespace
}  // namespace kvcast
