#include "kvcast/catalog/holdings.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TrackName HeldTrack(std::string_view name) { return *TrackName::Of(TrackNamespace(), name); }
AddRecord Added(uint32_t id, uint64_t group, std::string_view content = "x") {
  return {id, group, 10, Sha256::Of(content)};
}

TEST(Holdings, AddUpWhatRecordsSay) {
  Holdings holdings;
  for (const CatalogRecord& record : CatalogRecords{TrackRecord{1, HeldTrack("a")}, Added(1, 0),
                                                    Added(1, 1), RemoveRecord{1, 0}}) {
    EXPECT_TRUE(holdings.Apply(record).ok());
  }
  EXPECT_EQ(holdings.block_count(), 1u);
  EXPECT_EQ(holdings.ToRecords(), (CatalogRecords{TrackRecord{1, HeldTrack("a")}, Added(1, 1)}));
  EXPECT_TRUE(holdings.Apply(DropRecord{1}).ok());
  EXPECT_EQ(holdings.block_count(), 0u);
  EXPECT_TRUE(holdings.ToRecords().empty());
}

TEST(Holdings, RefuseNumbersThatStandForNothing) {
  Holdings holdings;
  EXPECT_FALSE(holdings.Apply(Added(1, 0)).ok());
  EXPECT_FALSE(holdings.Apply(RemoveRecord{1, 0}).ok());
  EXPECT_FALSE(holdings.Apply(DropRecord{1}).ok());
  EXPECT_TRUE(holdings.Apply(TrackRecord{1, HeldTrack("a")}).ok());
  EXPECT_FALSE(holdings.Apply(TrackRecord{1, HeldTrack("a")}).ok());
  EXPECT_TRUE(holdings.Apply(DropRecord{1}).ok());
  EXPECT_FALSE(holdings.Apply(TrackRecord{1, HeldTrack("a")}).ok());  // Spent for this epoch.
}

// A name never yields two payloads, so it cannot have two keys either.
TEST(Holdings, RefuseAGroupAsSomethingElse) {
  Holdings holdings;
  ASSERT_TRUE(holdings.Apply(TrackRecord{1, HeldTrack("a")}).ok());
  ASSERT_TRUE(holdings.Apply(Added(1, 0, "x")).ok());
  EXPECT_TRUE(holdings.Apply(Added(1, 0, "x")).ok());
  EXPECT_EQ(holdings.Apply(Added(1, 0, "y")).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(holdings.block_count(), 1u);
}

TEST(Holdings, AreBounded) {
  Holdings holdings({.tracks_max = 1, .blocks_max = 2});
  ASSERT_TRUE(holdings.Apply(TrackRecord{1, HeldTrack("a")}).ok());
  EXPECT_EQ(holdings.Apply(TrackRecord{2, HeldTrack("b")}).error().code(), ErrorCode::kTooLarge);
  ASSERT_TRUE(holdings.Apply(Added(1, 0)).ok());
  ASSERT_TRUE(holdings.Apply(Added(1, 1)).ok());
  EXPECT_EQ(holdings.Apply(Added(1, 2)).error().code(), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace kvcast
