// The tools of kvcast store on the directory of a node of several shards.
#include "kvcast/host/resting_shards.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvcast/catalog/block_key.h"
#include "kvcast/host/driven_store.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

TrackName ShardedTrack(uint64_t number) {
  return *TrackName::Of(*TrackNamespace::Of({"a", "b"}), "t" + std::to_string(number));
}

void FillPart(const std::filesystem::path& path, uint64_t track) {
  DiskTierOptions options;
  options.bytes_max = 16 << 20;
  options.segment_bytes = 1 << 20;
  options.key_property = kBlockKeyProperty;
  const auto disk = *DrivenDisk::Open(path, options, std::make_unique<OldestFirst>(), {}, Log());
  for (uint64_t group = 0; group < 3; ++group) {
    Object object;
    object.location = {group, 0};
    object.payload = Bytes::Of(std::string(5000, static_cast<char>('a' + track)));
    ASSERT_TRUE(disk->tier().Put(ShardedTrack(track), object, 1, Now()).ok());
    ASSERT_TRUE(disk->tier().EndGroup(ShardedTrack(track), {group, 1}, Now()).ok());
  }
  disk->tier().Seal(Now());
  while (!disk->tier().idle()) {
    disk->Turn(std::chrono::seconds(1));
  }
}

class RestingShardsTest : public testing::Test {
 protected:
  void SetUp() override {
    FillPart(store_ / "shard-1-of-2", 1);
    FillPart(store_ / "shard-2-of-2", 0);
  }
  const ScratchDirectory scratch_ = *ScratchDirectory::Make();
  const std::filesystem::path store_ = scratch_ / "store";
};

TEST_F(RestingShardsTest, AreOneStoreToWhoeverLooks) {
  auto opened = OpenRestingStore(store_.string());
  ASSERT_TRUE(opened.ok()) << opened.error().ToString();
  RestingStore& store = **opened;
  TrackWalk walk(store, "");
  for (uint64_t number = 0; number < 2; ++number) {
    const auto track = walk.Next();
    ASSERT_TRUE(track.has_value());
    EXPECT_EQ(track->name, ShardedTrack(number)) << "in order, wherever it lies";
    EXPECT_EQ(track->whole_count(), 3u);
    ASSERT_NE(store.FindTrack(track->name), nullptr);
    EXPECT_EQ(store.ObjectFrom(track->name, {2, 0}), 0u);
    EXPECT_EQ(store.Read(track->name, {1, 0})->object.payload.ToString(),
              std::string(5000, static_cast<char>('a' + number)));
  }
  EXPECT_FALSE(walk.Next().has_value());
  EXPECT_EQ(store.Tracks(std::nullopt, 1), std::vector<TrackName>{ShardedTrack(0)});
  EXPECT_EQ(store.Tracks(ShardedTrack(0), 10), std::vector<TrackName>{ShardedTrack(1)});
  EXPECT_FALSE(store.Read(ShardedTrack(7), {0, 0}).ok());
  uint64_t last_done = 0;
  const auto verdict = store.Verify([&](uint64_t done, uint64_t total) {
    EXPECT_LE(done, total);
    EXPECT_GE(done, last_done) << "one part after the other";
    last_done = done;
  });
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->damage.empty());
  EXPECT_GT(verdict->records, 6u);
  const auto files = store.Files([](uint64_t, uint64_t) {});
  ASSERT_TRUE(files.ok());
  EXPECT_TRUE(std::ranges::any_of(
      *files, [](const StoreFile& file) { return file.name.starts_with("shard-2-of-2/"); }));
}

// It would make a superblock that stops the node.
TEST_F(RestingShardsTest, NothingIsWrittenBesideThem) {
  const auto driven = DrivenStore::Open(store_.string());
  ASSERT_FALSE(driven.ok());
  EXPECT_EQ(driven.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(driven.error().ToString().find("shard-1-of-2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(store_ / "superblock"));
  EXPECT_TRUE(DrivenStore::Open((store_ / "shard-1-of-2").string()).ok());
}

}  // namespace
}  // namespace kvcast
