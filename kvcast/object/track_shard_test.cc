#include "kvcast/object/track_shard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvcast {
namespace {

TrackNamespace Space(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}

TEST(TrackShard, OfOneIsTheOnlyOne) {
  EXPECT_EQ(ShardOf(Space({"a", "b", "c"}), 1), 0u);
  EXPECT_EQ(ShardOf(TrackNamespace(), 1), 0u);
}

// Directories are divided by it: another answer would lose what is in them.
TEST(TrackShard, StaysWhatItIs) {
  EXPECT_EQ(ShardOf(Space({"kv", "acme/m", "prefix", "generation"}), 2), 0u);
  EXPECT_EQ(ShardOf(Space({"kv", "acme/m", "prefix", "generation"}), 7), 1u);
  EXPECT_EQ(ShardOf(Space({"kv", "acme/m", "another", "generation"}), 2), 0u);
  EXPECT_EQ(ShardOf(Space({"meeting", "room"}), 7), 1u);
  EXPECT_EQ(ShardOf(TrackNamespace(), 7), 6u);
}

TEST(TrackShard, DoesNotDependOnTenantAndModelWhereMoreFollows) {
  for (size_t shards = 2; shards < 9; ++shards) {
    EXPECT_EQ(ShardOf(Space({"kv", "acme/m", "catalog", "node"}), shards),
              ShardOf(Space({"kv", "other/n", "catalog", "node"}), shards));
  }
}

TEST(TrackShard, TellsFieldsApart) {
  bool differs = false;
  for (size_t shards = 2; shards < 64; ++shards) {
    differs = differs || ShardOf(Space({"a", "b", "cd", "e"}), shards) !=
                             ShardOf(Space({"a", "b", "c", "de"}), shards);
  }
  EXPECT_TRUE(differs);
}

TEST(TrackShard, SpreadsNamesEvenly) {
  for (const size_t shards : {2u, 3u, 8u}) {
    std::vector<size_t> counts(shards);
    constexpr size_t kNames = 8000;
    for (size_t i = 0; i < kNames; ++i) {
      ++counts[ShardOf(Space({"kv", "acme/m", "prefix" + std::to_string(i), "g"}), shards)];
    }
    for (const size_t count : counts) {
      EXPECT_NEAR(static_cast<double>(count), static_cast<double>(kNames) / double(shards),
                  0.1 * static_cast<double>(kNames));
    }
  }
}

}  // namespace
}  // namespace kvcast
