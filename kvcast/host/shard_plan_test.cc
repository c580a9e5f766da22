#include "kvcast/host/shard_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "kvcast/host/storage_plan.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/object/track_shard.h"

namespace kvcast {
namespace {

TEST(ShardPlan, ReadsTheNamesThatItGives) {
  for (const char* const where :
       {"shard-2-of-4", "/var/lib/kvcast/shard-2-of-4", "blocks/shard-2-of-4/",
        "s3://bucket/prefix/shard-2-of-4,endpoint=http://host/path"}) {
    const auto place = ShardPlace::In(where);
    ASSERT_TRUE(place) << where;
    EXPECT_EQ(place->index, 1u);
    EXPECT_EQ(place->count, 4u);
  }
  EXPECT_EQ(ShardName(1, 4), "shard-2-of-4");
  for (const char* const where : {"", "shard-", "shard-0-of-4", "shard-5-of-4", "shard-1-of-4x",
                                  "shard-1of-4", "a/shard-1-of-4/b", "xshard-1-of-4"}) {
    EXPECT_FALSE(ShardPlace::In(where)) << where;
  }
}

TEST(ShardPlan, DividesWhatANodeHasAndLeavesOneAlone) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  NodeServer::Options node;
  node.relay.ram_bytes = 4096;
  node.relay.reservations = {{"acme", 1024}};
  node.relay.warming.bytes_per_second = 400;
  node.relay.warming.burst_bytes = 40;
  FillRandom(node.relay.node);
  DiskMount::Options disk;
  disk.directory = scratch.path() / "blocks";
  disk.tier.bytes_max = 1 << 20;
  node.disks = {disk};
  BucketMount::Options bucket;
  bucket.tier.prefix = "caches";
  node.buckets = {bucket};
  const NodeServer::Options whole = *ShardOptions(node, 0, 1, scratch.path());
  EXPECT_EQ(whole.relay.ram_bytes, 4096u);
  EXPECT_EQ(whole.disks[0].directory, disk.directory);
  EXPECT_FALSE(whole.relay.owns);
  std::set<BootId> boots;
  std::set<NodeId> nodes;  // Two catalogs of one node, and the second takes the first one's place.
  for (size_t i = 0; i < 4; ++i) {
    const NodeServer::Options part = *ShardOptions(node, i, 4, scratch.path());
    EXPECT_EQ(part.relay.ram_bytes, 1024u);
    EXPECT_EQ(part.relay.reservations.at("acme"), 256u);
    EXPECT_EQ(part.relay.warming.bytes_per_second, 100u);
    EXPECT_EQ(part.relay.warming.burst_bytes, 10u);
    EXPECT_EQ(part.disks[0].directory, disk.directory / ShardName(i, 4));
    EXPECT_EQ(part.disks[0].tier.bytes_max, uint64_t{1} << 18);
    // All find what any number of shards has put.
    EXPECT_EQ(part.buckets[0].tier.prefix, "caches");
    EXPECT_EQ(part.buckets[0].tier.share.index, i);
    EXPECT_EQ(part.buckets[0].tier.share.count, 4u);
    EXPECT_EQ(part.buckets[0].tier.owns(TrackNamespace()), i == ShardOf(TrackNamespace(), 4));
    boots.insert(part.relay.boot);
    nodes.insert(part.relay.node);
    EXPECT_EQ(ShardNode(part.relay.node, i), node.relay.node);
    // Whatever tenant and model, its catalogs and lists are its own.
    for (const char* const scope : {"acme/a@0", "other/b@1"}) {
      const CatalogTrack catalog{*TrackNamespace::Of({"service", scope}), part.relay.node,
                                 part.relay.boot};
      EXPECT_EQ(ShardOf(catalog.Name().space(), 4), i);
      EXPECT_TRUE(part.relay.owns(catalog.Name().space()));
    }
  }
  EXPECT_EQ(boots.size(), 4u);
  EXPECT_EQ(nodes.size(), 4u);
}

// What is too few for a node divided into shards must not be refused for being whole in each.
TEST(ShardPlan, DividesWhatIsReservedInABucketToo) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  NodeServer::Options node;
  BucketMount::Options bucket;
  bucket.tier.bytes_max = uint64_t{4} << 30;
  bucket.tier.reservations = {{"acme", uint64_t{2} << 30}};
  bucket.tier.queue_bytes_max = uint64_t{64} << 20;
  bucket.tier.pack_bytes = PackBytesFor(bucket.tier.queue_bytes_max);
  ASSERT_EQ(bucket.tier.pack_bytes, uint64_t{16} << 20);
  node.buckets = {bucket};
  for (size_t i = 0; i < 4; ++i) {
    const BucketTierOptions part = ShardOptions(node, i, 4, scratch.path())->buckets[0].tier;
    EXPECT_EQ(part.reservations.at("acme"), uint64_t{512} << 20);
    EXPECT_EQ(part.pack_bytes, uint64_t{4} << 20) << "a pack is a part of what may wait for one";
    EXPECT_GE(part.bytes_max, part.LeastBytes());
  }
}

// An identity's tracks are on all shards, and so are its requests; but not evenly.
TEST(ShardPlan, DividesWhatAnIdentityMayAskForAmongShards) {
  relay::Limits limits;
  limits.fetches_max = 100;
  limits.requests_per_second = 0;
  const relay::Limits part = ShardLimits(limits, 8);
  EXPECT_EQ(part.requests_burst, limits.requests_burst / 4);
  EXPECT_EQ(part.data_streams_max, limits.data_streams_max / 4);
  EXPECT_EQ(part.identity_queue_bytes, limits.identity_queue_bytes / 4);
  EXPECT_EQ(part.requests_per_second, 0u);            // Nothing is bounded.
  EXPECT_EQ(part.fetches_max, 100u);                  // So few may all be at one shard.
  EXPECT_EQ(part.sessions_max, limits.sessions_max);  // Every shard hears of each of these.
  EXPECT_EQ(part.namespaces_max, limits.namespaces_max);
  const relay::Limits two = ShardLimits(limits, 2);
  EXPECT_EQ(two.streams_max, limits.streams_max);
}

TEST(ShardPlan, DividesConnectionsAndHandshakesAmongShards) {
  QuicServer::Options door;
  door.connections_max = 10'001;
  const QuicServer::Options part = ShardDoor(door, 4);
  EXPECT_EQ(part.connections_max, 2501u);
  EXPECT_EQ(part.handshakes_max, 64u);
  EXPECT_EQ(part.handshakes_before_retry, 16u);
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  NodeServer::Options node;
  node.quic = door;
  EXPECT_EQ(ShardOptions(node, 1, 4, scratch.path())->quic.connections_max, 2501u);
  EXPECT_EQ(ShardOptions(node, 0, 1, scratch.path())->quic.connections_max, 10'001u);
}

TEST(ShardPlan, RefusesADirectoryOfAnotherNumberOfShards) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  EXPECT_TRUE(CheckShardDirectory(scratch.path() / "absent", 2).ok());
  EXPECT_TRUE(CheckShardDirectory(scratch.path(), 2).ok());
  std::filesystem::create_directory(scratch.path() / "shard-1-of-2");
  EXPECT_TRUE(CheckShardDirectory(scratch.path(), 2).ok());
  for (const size_t count : {size_t{1}, size_t{3}}) {
    const Result<void> refused = CheckShardDirectory(scratch.path(), count);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(refused.error().ToString().find("--shards 2"), std::string::npos);
  }
  const ScratchDirectory single = *ScratchDirectory::Make();
  std::filesystem::create_directory(single.path() / "superblock");
  EXPECT_TRUE(CheckShardDirectory(single.path(), 1).ok());
  EXPECT_FALSE(CheckShardDirectory(single.path(), 2).ok());
}

}  // namespace
}  // namespace kvcast
