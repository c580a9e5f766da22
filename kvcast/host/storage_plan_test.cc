#include "kvcast/host/storage_plan.h"

#include <gtest/gtest.h>

#include "kvcast/store/store.h"

namespace kvcast {
namespace {

constexpr uint64_t kPlanMib = uint64_t{1} << 20;

NodeServer::Options PlanOf(uint64_t ram_bytes, size_t disks) {
  NodeConfig config;
  for (size_t i = 0; i < disks; ++i) {
    config.disks.push_back({"/nowhere/" + std::to_string(i), {{"bytes", "1TiB"}}, "--disk"});
  }
  NodeServer::Options node;
  EXPECT_TRUE(PlanStorage(config, NodeId(), ram_bytes, node).ok());
  return node;
}

// A node with little memory and several disks must not take many times what it was given.
TEST(StoragePlan, AllThatDisksTakeOfTheMemoryIsWithinIt) {
  for (const uint64_t ram : {16 * kPlanMib, 256 * kPlanMib, 4096 * kPlanMib}) {
    for (const size_t disks : {size_t{1}, size_t{2}, size_t{4}}) {
      const NodeServer::Options node = PlanOf(ram, disks);
      ASSERT_EQ(node.disks.size(), disks);
      uint64_t bytes = node.relay.ram_bytes + node.relay.reads.bytes_max;
      for (const DiskMount::Options& disk : node.disks) {
        bytes += disk.tier.index_bytes_max + disk.tier.queue_bytes_max + disk.tier.read_bytes_max +
                 DiskRing::Shape::Within(disk.buffer_bytes_max).bytes();
        EXPECT_GT(disk.tier.read_bytes_max, 0u);
      }
      EXPECT_LE(bytes, ram) << ram / kPlanMib << " MiB, " << disks << " disks";
      EXPECT_GT(node.relay.ram_bytes, ram / 4);
    }
  }
  EXPECT_EQ(PlanOf(4096 * kPlanMib, 1).disks[0].buffer_bytes_max, DiskRing::kMostBytes);
}

// What is said once for the node holds in memory and where a directory says nothing else.
TEST(StoragePlan, TiersDoAsTheyAreTold) {
  NodeConfig config;
  config.eviction = "lru";
  config.warm_rate_bytes = 8 * kPlanMib;
  config.disks.push_back({"/nowhere/0", {{"bytes", "1TiB"}}, "--disk"});
  config.disks.push_back({"/nowhere/1", {{"bytes", "1TiB"}, {"evict", "s3fifo"}}, "--disk"});
  config.buckets.push_back({"s3://caches", {{"patience", "750ms"}}, "--bucket"});
  NodeServer::Options node;
  ASSERT_TRUE(PlanStorage(config, NodeId(), 256 * kPlanMib, node).ok());
  EXPECT_EQ(node.relay.eviction, "lru");
  EXPECT_EQ(node.relay.warming.bytes_per_second, 8 * kPlanMib);
  EXPECT_LT(node.relay.warming.burst_bytes, 8 * kPlanMib);
  EXPECT_EQ(node.disks[0].eviction, "lru");
  EXPECT_EQ(node.disks[1].eviction, "s3fifo");
  EXPECT_EQ(node.buckets[0].tier.get_patience, std::chrono::milliseconds(750));
}

// What holds where nothing is said is said in one place for the store, and in one for people.
TEST(StoragePlan, NothingSaidIsWhatTheStoreDoesByItself) {
  const NodeServer::Options node = PlanOf(256 * kPlanMib, 1);
  EXPECT_EQ(node.relay.eviction, StoreOptions().eviction);
  EXPECT_EQ(node.disks[0].eviction, DiskMount::Options().eviction);
  EXPECT_EQ(node.relay.warming.bytes_per_second, WarmQueue::Limits().bytes_per_second);
  EXPECT_EQ(node.relay.warming.burst_bytes, WarmQueue::Limits().burst_bytes);
}

}  // namespace
}  // namespace kvcast
