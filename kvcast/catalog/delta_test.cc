#include "kvcast/catalog/delta.h"

#include <gtest/gtest.h>

#include <set>

#include "kvcast/base/random.h"
#include "kvcast/catalog/holdings.h"

namespace kvcast {
namespace {

TrackName DeltaTrack(uint64_t id) { return *TrackName::Of(TrackNamespace(), std::to_string(id)); }

TEST(Delta, SaysOnlyTheLastWordAboutAGroup) {
  Delta delta;
  ASSERT_TRUE(delta.Add(AddRecord{1, 5, 10, Sha256::Of("x")}).ok());
  ASSERT_TRUE(delta.Add(RemoveRecord{1, 5}).ok());
  EXPECT_EQ(delta.ToRecords(), (CatalogRecords{RemoveRecord{1, 5}}));
}

TEST(Delta, NeverTellsOfATrackThatCameAndWent) {
  Delta delta;
  ASSERT_TRUE(delta.Add(TrackRecord{1, DeltaTrack(1)}).ok());
  ASSERT_TRUE(delta.Add(AddRecord{1, 5, 10, Sha256::Of("x")}).ok());
  ASSERT_TRUE(delta.Add(DropRecord{1}).ok());
  EXPECT_TRUE(delta.ToRecords().empty());
  EXPECT_FALSE(delta.Add(RemoveRecord{1, 5}).ok());
}

TEST(Delta, DropsATrackThatWasKnownBefore) {
  Delta delta;
  ASSERT_TRUE(delta.Add(AddRecord{1, 5, 10, Sha256::Of("x")}).ok());
  ASSERT_TRUE(delta.Add(DropRecord{1}).ok());
  EXPECT_EQ(delta.ToRecords(), (CatalogRecords{DropRecord{1}}));
}

// The reader may hold the group with another key: then the add alone would contradict it.
TEST(Delta, KeepsARemoveBeforeAnAdd) {
  Delta delta;
  const AddRecord add{1, 5, 10, Sha256::Of("x")};
  ASSERT_TRUE(delta.Add(RemoveRecord{1, 5}).ok());
  ASSERT_TRUE(delta.Add(add).ok());
  EXPECT_EQ(delta.ToRecords(), (CatalogRecords{RemoveRecord{1, 5}, add}));
}

// A reader that is full has room for what comes only after what goes has gone.
TEST(Delta, RemovesBeforeItAdds) {
  Delta delta;
  const AddRecord add{1, 5, 10, Sha256::Of("x")};
  ASSERT_TRUE(delta.Add(RemoveRecord{2, 7}).ok());
  ASSERT_TRUE(delta.Add(add).ok());
  EXPECT_EQ(delta.ToRecords(), (CatalogRecords{RemoveRecord{2, 7}, add}));
}

TEST(Delta, RefusesWhatEveryReaderWouldRefuse) {
  Delta delta;
  ASSERT_TRUE(delta.Add(AddRecord{1, 5, 10, Sha256::Of("x")}).ok());
  EXPECT_FALSE(delta.Add(AddRecord{1, 5, 10, Sha256::Of("y")}).ok());
  ASSERT_TRUE(delta.Add(DropRecord{1}).ok());
  EXPECT_FALSE(delta.Add(DropRecord{1}).ok());
  EXPECT_FALSE(delta.Add(RemoveRecord{1, 5}).ok());
  EXPECT_FALSE(delta.Add(TrackRecord{1, DeltaTrack(1)}).ok());
  ASSERT_TRUE(delta.Add(TrackRecord{7, DeltaTrack(7)}).ok());
  EXPECT_FALSE(delta.Add(TrackRecord{6, DeltaTrack(6)}).ok());
  ASSERT_TRUE(delta.Add(RemoveRecord{9, 0}).ok());  // Defined before this delta.
  EXPECT_FALSE(delta.Add(TrackRecord{8, DeltaTrack(8)}).ok());
}

// Also where the later delta leaves nothing of it.
TEST(Delta, DoesNotMergeWhatAReaderWouldRefuseAfterIt) {
  const TrackRecord seven{7, DeltaTrack(7)};
  Delta tracks;
  ASSERT_TRUE(tracks.Add(seven).ok());
  EXPECT_FALSE(tracks.Merge({TrackRecord{5, DeltaTrack(5)}, DropRecord{5}}).ok());
  Delta blocks;
  ASSERT_TRUE(blocks.Add(AddRecord{1, 0, 10, Sha256::Of("x")}).ok());
  EXPECT_FALSE(blocks.Merge({AddRecord{1, 0, 10, Sha256::Of("y")}, RemoveRecord{1, 0}}).ok());
}

// A history that makes sense: numbers are defined before use and not used after their drop.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {}

  CatalogRecord Next() {
    if (alive_.empty() || random_.Happens(0.2)) {
      alive_.insert(next_);
      return TrackRecord{next_, DeltaTrack(next_++)};
    }
    const uint32_t id = *std::next(alive_.begin(), static_cast<long>(random_.Below(alive_.size())));
    if (random_.Happens(0.1)) {
      alive_.erase(id);
      return DropRecord{id};
    }
    const uint64_t group = random_.Below(4);
    if (random_.Happens(0.4)) {
      return RemoveRecord{id, group};
    }
    return AddRecord{id, group, 10 + group, Sha256::Of(std::to_string(id * 100 + group))};
  }

 private:
  Random random_;
  std::set<uint32_t> alive_;
  uint32_t next_ = 0;
};

// Applying a merged delta has the effect of applying its parts one after the other.
TEST(Delta, MergedHasTheEffectOfItsParts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    History history(seed);
    Random random(seed + 1);
    Holdings one_by_one;
    Holdings in_deltas;
    Holdings merged;
    Delta all;
    for (int round = 0; round < 6; ++round) {
      Delta delta;
      for (uint64_t i = random.Below(12); i > 0; --i) {
        const CatalogRecord record = history.Next();
        ASSERT_TRUE(one_by_one.Apply(record).ok());
        ASSERT_TRUE(delta.Add(record).ok());
      }
      for (const CatalogRecord& record : delta.ToRecords()) {
        ASSERT_TRUE(in_deltas.Apply(record).ok()) << "seed " << seed;
      }
      ASSERT_TRUE(all.Merge(delta.ToRecords()).ok());
    }
    for (const CatalogRecord& record : all.ToRecords()) {
      ASSERT_TRUE(merged.Apply(record).ok()) << "seed " << seed;
    }
    ASSERT_EQ(in_deltas.tracks(), one_by_one.tracks()) << "seed " << seed;
    ASSERT_EQ(merged.tracks(), one_by_one.tracks()) << "seed " << seed;
    ASSERT_EQ(merged.block_count(), one_by_one.block_count()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kvcast
