#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/catalog/writer.h"

namespace kvcast {
namespace {

TrackName WriterTrack(uint64_t id) { return *TrackName::Of(TrackNamespace(), std::to_string(id)); }

// A reader that keeps what it is told.
struct Follower {
  CatalogReader reader;
  Holdings holdings;

  bool Take(const Object& object) {
    Result<CatalogReader::Update> update = reader.OnObject(object.location, object.payload);
    if (!update.ok()) {
      return false;
    }
    if (update->restart) {
      holdings = Holdings();
    }
    for (const CatalogRecord& record : update->records) {
      if (!holdings.Apply(record).ok()) {
        return false;
      }
    }
    return true;
  }
};

// What a follower knows, without the numbers, which differ between epochs.
std::map<TrackName, std::map<uint64_t, Holdings::Block>> Known(const Holdings& holdings) {
  std::map<TrackName, std::map<uint64_t, Holdings::Block>> known;
  for (const auto& [id, track] : holdings.tracks()) {
    known[track.name] = track.groups;
  }
  return known;
}

void ChangeSomething(CatalogWriter& writer, Random& random) {
  const TrackName track = WriterTrack(random.Below(6));
  const uint64_t group = random.Below(5);
  if (random.Happens(0.6)) {
    ASSERT_TRUE(writer.Add(track, group, Sha256::Of(track.name() + std::to_string(group)), 7).ok());
  } else if (random.Happens(0.8)) {
    writer.Remove(track, group);
  } else {
    writer.Drop(track);
  }
}

TEST(Catalog, BeginsWithASnapshotAndGoesOnWithDeltas) {
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(WriterTrack(1), 0, Sha256::Of("a"), 10).ok());
  const std::vector<Object> first = writer.TakeObjects();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].location, (Location{0, 0}));
  EXPECT_TRUE(writer.TakeObjects().empty());
  ASSERT_TRUE(writer.Add(WriterTrack(1), 1, Sha256::Of("b"), 10).ok());
  EXPECT_EQ(writer.TakeObjects()[0].location, (Location{0, 1}));
}

TEST(Catalog, RefusesToListAGroupAsSomethingElse) {
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(WriterTrack(1), 0, Sha256::Of("a"), 10).ok());
  EXPECT_FALSE(writer.Add(WriterTrack(1), 0, Sha256::Of("b"), 10).ok());
}

// A full catalog refuses a block, and does not keep the name of its track either.
TEST(Catalog, ThatIsFullNamesNoTracksInVain) {
  CatalogWriter writer({.tracks_max = 2, .blocks_max = 1});
  ASSERT_TRUE(writer.Add(WriterTrack(1), 0, Sha256::Of("a"), 10).ok());
  for (uint64_t track = 2; track < 10; ++track) {
    EXPECT_EQ(writer.Add(WriterTrack(track), 0, Sha256::Of("b"), 10).error().code(),
              ErrorCode::kTooLarge);
  }
  EXPECT_EQ(writer.holdings().tracks().size(), 1u);
  writer.Remove(WriterTrack(1), 0);
  EXPECT_TRUE(writer.Add(WriterTrack(10), 0, Sha256::Of("b"), 10).ok());
  EXPECT_EQ(writer.holdings().tracks().size(), 1u);
}

// Whoever follows from the start, and whoever comes late and reads the epoch, know the same.
TEST(Catalog, LeavesEveryFollowerWithTheSameKnowledge) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    CatalogWriter writer;
    Follower early;
    std::vector<Object> epoch;
    for (int round = 0; round < 20; ++round) {
      for (uint64_t i = random.Below(6); i > 0; --i) {
        ChangeSomething(writer, random);
      }
      if (random.Happens(0.1)) {
        writer.StartEpoch();
        epoch.clear();
      }
      for (const Object& object : writer.TakeObjects()) {
        ASSERT_TRUE(early.Take(object));
        epoch.push_back(object);
      }
      ASSERT_EQ(Known(early.holdings), Known(writer.holdings())) << "seed " << seed;
    }
    Follower late;
    for (const Object& object : epoch) {
      ASSERT_TRUE(late.Take(object));
    }
    ASSERT_TRUE(late.reader.synced());
    ASSERT_EQ(Known(late.holdings), Known(writer.holdings())) << "seed " << seed;
  }
}

TEST(CatalogReader, NoticesALostDeltaAndIsRepairedByIt) {
  CatalogWriter writer;
  Follower follower;
  ASSERT_TRUE(follower.Take(writer.TakeObjects()[0]));
  ASSERT_TRUE(writer.Add(WriterTrack(1), 0, Sha256::Of("a"), 10).ok());
  const Object lost = writer.TakeObjects()[0];
  ASSERT_TRUE(writer.Add(WriterTrack(1), 1, Sha256::Of("b"), 10).ok());
  const Object next = writer.TakeObjects()[0];

  ASSERT_TRUE(follower.Take(next));
  EXPECT_TRUE(follower.reader.missed());
  EXPECT_EQ(follower.reader.wanted(), lost.location);
  EXPECT_EQ(follower.holdings.block_count(), 0u);
  ASSERT_TRUE(follower.Take(lost));
  ASSERT_TRUE(follower.Take(next));
  EXPECT_FALSE(follower.reader.missed());
  EXPECT_EQ(Known(follower.holdings), Known(writer.holdings()));
}

TEST(CatalogReader, IgnoresWhatItHasSeenAndWhatIsOver) {
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(WriterTrack(1), 0, Sha256::Of("a"), 10).ok());
  const Object old = writer.TakeObjects()[0];
  writer.StartEpoch();
  const Object now = writer.TakeObjects()[0];
  Follower follower;
  ASSERT_TRUE(follower.Take(now));
  ASSERT_TRUE(follower.Take(now));
  ASSERT_TRUE(follower.Take(old));
  EXPECT_EQ(follower.holdings.block_count(), 1u);
}

TEST(CatalogReader, BelievesNothingAfterADamagedObjectUntilItBeginsAgain) {
  CatalogWriter writer;
  const Object snapshot = writer.TakeObjects()[0];
  Object damaged = snapshot;
  damaged.payload = Bytes::Of("damaged");
  CatalogReader reader;
  EXPECT_FALSE(reader.OnObject(damaged.location, damaged.payload).ok());
  EXPECT_TRUE(reader.OnObject(snapshot.location, snapshot.payload)->records.empty());
  EXPECT_FALSE(reader.synced());
  reader.Restart();
  EXPECT_TRUE(reader.OnObject(snapshot.location, snapshot.payload).ok());
  EXPECT_TRUE(reader.synced());
}

TEST(CatalogReader, RefusesPartsInTheWrongPlace) {
  CatalogObject part{CatalogKind::kSnapshot, 1, 3, {}};
  CatalogReader reader;
  EXPECT_FALSE(reader.OnObject({0, 0}, part.Encode()).ok());
  reader.Restart();
  part.part = 0;
  EXPECT_TRUE(reader.OnObject({0, 0}, part.Encode()).ok());
  const CatalogObject other{CatalogKind::kSnapshot, 1, 2, {}};
  EXPECT_FALSE(reader.OnObject({0, 1}, other.Encode()).ok());
  reader.Restart();
  EXPECT_FALSE(reader.OnObject({0, 0}, CatalogObject{}.Encode()).ok());  // A delta comes first.
}

}  // namespace
}  // namespace kvcast
