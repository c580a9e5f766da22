#include "kvcast/kv/index_feed.h"

#include <gtest/gtest.h>

#include "kvcast/catalog/writer.h"

namespace kvcast {
namespace {

TrackName Name(std::string_view name) { return *TrackName::Of(TrackNamespace(), name); }
BlockHash HashOf(uint64_t number) { return Sha256::Of(std::to_string(number)); }

size_t Leading(const PrefixIndex& index, size_t blocks) {
  std::vector<BlockHash> hashes;
  for (size_t i = 0; i < blocks; ++i) {
    hashes.push_back(HashOf(i));
  }
  return index.LongestMatch(hashes).leading();
}

TEST(IndexFeed, FollowsACatalog) {
  PrefixIndex index;
  CatalogWriter writer;
  IndexFeed feed(index);
  const auto deliver = [&] {
    for (const Object& object : writer.TakeObjects()) {
      ASSERT_TRUE(feed.OnObject(object.location, object.payload).ok());
    }
  };
  ASSERT_TRUE(writer.Add(Name("a"), 0, HashOf(0), 10).ok());
  deliver();
  EXPECT_TRUE(feed.synced());
  EXPECT_EQ(Leading(index, 3), 1u);
  ASSERT_TRUE(writer.Add(Name("a"), 1, HashOf(1), 10).ok());
  ASSERT_TRUE(writer.Add(Name("b"), 2, HashOf(2), 10).ok());
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
    ASSERT_TRUE(writer.Add(Name("a"), 0, HashOf(0), 10).ok());
    IndexFeed feed(index);
    const Object snapshot = writer.TakeObjects()[0];
    ASSERT_TRUE(feed.OnObject(snapshot.location, snapshot.payload).ok());
    EXPECT_EQ(index.source_count(), 1u);
  }
  EXPECT_EQ(index.source_count(), 0u);
}

// A catalog that contradicts itself is not half believed.
TEST(IndexFeed, ForgetsWhatABrokenCatalogSaid) {
  PrefixIndex index;
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(Name("a"), 0, HashOf(0), 10).ok());
  IndexFeed feed(index);
  const Object snapshot = writer.TakeObjects()[0];
  ASSERT_TRUE(feed.OnObject(snapshot.location, snapshot.payload).ok());
  CatalogObject lie;
  lie.records = {AddRecord{0, 1, 10, HashOf(1)}, AddRecord{0, 0, 10, HashOf(9)}};
  EXPECT_FALSE(feed.OnObject({0, 1}, lie.Encode()).ok());
  EXPECT_EQ(index.source_count(), 0u);
  lie.records = {AddRecord{0, 2, 10, HashOf(2)}};
  EXPECT_TRUE(feed.OnObject({0, 2}, lie.Encode()).ok());  // Ignored until the next epoch.
  EXPECT_EQ(index.source_count(), 0u);
  writer.StartEpoch();
  const Object next = writer.TakeObjects()[0];
  ASSERT_TRUE(feed.OnObject(next.location, next.payload).ok());
  EXPECT_EQ(index.source_count(), 1u);
}

TEST(IndexFeed, RefusesNumbersThatStandForNothing) {
  for (const CatalogRecords& records :
       {CatalogRecords{AddRecord{0, 0, 1, HashOf(0)}}, CatalogRecords{DropRecord{0}},
        CatalogRecords{TrackRecord{1, Name("a")}, TrackRecord{0, Name("b")}},
        CatalogRecords{TrackRecord{1, Name("a")}, DropRecord{1}, RemoveRecord{1, 0}}}) {
    PrefixIndex index;
    IndexFeed feed(index);
    const CatalogObject object{CatalogKind::kSnapshot, 0, 1, records};
    EXPECT_FALSE(feed.OnObject({0, 0}, object.Encode()).ok());
    EXPECT_EQ(index.track_count(), 0u);
  }
}

}  // namespace
}  // namespace kvcast
