#include "kvcast/host/storage_plan.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "kvcast/catalog/block_key.h"
#include "kvcast/host/bucket_flag.h"
#include "kvcast/host/cache_directory.h"
#include "kvcast/host/disk_flag.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/human_units.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

// A tier that has not answered after this is taken not to have it; a bucket has less.
constexpr Duration kReadPatience = std::chrono::seconds(30);
// How often a bucket is looked through for small packs to put together.
constexpr Duration kMergeEvery = std::chrono::minutes(1);
// So much of a second's warming may come at once.
constexpr uint64_t kWarmBurstPart = 16;
// Of a bucket's packs.
constexpr uint64_t kPackBytesLeast = uint64_t{4} << 20;
constexpr uint64_t kPackBytesMost = uint64_t{64} << 20;

// What is remembered of those who wait for reads: this part of a node's memory,
constexpr uint64_t kReadDeskShare = 64;
// but for some thousands of them.
constexpr uint64_t kReadDeskLeast = uint64_t{2} << 20;
constexpr uint64_t kReadDeskMost = uint64_t{64} << 20;

// What tiers below take of a node's memory: a quarter, for their indexes, and for what is on its
// way to them and from them.
struct TierMemory {
  uint64_t index_bytes = 0;
  uint64_t queue_bytes = 0;
  uint64_t read_bytes = 0;
  uint64_t buffer_bytes = 0;  // Of a disk: for what is under way there, as it is read and written.
  uint64_t extra_bytes = 0;   // Of those, what a disk needs beyond the tier's share.
};

TierMemory MemoryOfTier(uint64_t ram_bytes, size_t tiers) {
  const uint64_t share = ram_bytes / 4 / tiers;
  TierMemory memory{share / 4, share / 2, share / 4};
  memory.buffer_bytes = DiskRing::Shape::Within(share / 8).bytes();
  const uint64_t shared = std::min(memory.buffer_bytes, share / 8);
  memory.read_bytes -= shared;
  memory.extra_bytes = memory.buffer_bytes - shared;
  return memory;
}

DiskMount::Options DiskOf(const std::filesystem::path& directory, uint64_t bytes,
                          const TierMemory& memory) {
  DiskMount::Options disk;
  disk.directory = directory;
  disk.tier.bytes_max = bytes;
  disk.tier.index_bytes_max = memory.index_bytes;
  disk.tier.queue_bytes_max = memory.queue_bytes;
  disk.tier.read_bytes_max = memory.read_bytes;
  disk.buffer_bytes_max = memory.buffer_bytes;
  disk.tier.key_property = kBlockKeyProperty;
  FillRandom(disk.tier.fresh.bytes);
  FillRandom(std::as_writable_bytes(std::span(&disk.tier.seed, 1)));
  return disk;
}

Result<std::vector<DiskMount::Options>> PrepareDisks(const NodeConfig& config,
                                                     const TierMemory& memory) {
  std::vector<DiskMount::Options> disks;
  for (const TierConfig& tier : config.disks) {
    const Result<DiskFlag> flag = DiskFlag::Of(SaidWords(tier.where, tier.words));
    if (!flag.ok()) {
      throw CLI::ValidationError(tier.origin, flag.error().message());
    }
    uint64_t bytes = flag->bytes.value_or(0);
    if (!flag->bytes) {
      KVCAST_TRY(bytes, flag->DefaultBytes());
    }
    DiskMount::Options disk = DiskOf(flag->directory, bytes, memory);
    disk.admission = flag->admission;
    disk.eviction = flag->eviction.value_or(config.eviction);
    disk.tier.disk_class = flag->disk_class;
    disks.push_back(std::move(disk));
  }
  return disks;
}

// `node`: whose packs they are.
std::vector<BucketMount::Options> PrepareBuckets(const std::vector<TierConfig>& configured,
                                                 const NodeId& node, const TierMemory& memory) {
  std::vector<BucketMount::Options> buckets;
  for (const TierConfig& tier : configured) {
    const Result<BucketFlag> flag = BucketFlag::Of(SaidWords(tier.where, tier.words));
    if (!flag.ok()) {
      throw CLI::ValidationError(tier.origin, flag.error().message());
    }
    BucketMount::Options bucket;
    bucket.where = flag->ToString();
    bucket.server = flag->server;
    bucket.admission = flag->admission;
    bucket.tier.prefix = flag->prefix;
    std::ranges::copy(node, bucket.tier.node.bytes.begin());
    FillRandom(std::as_writable_bytes(std::span(&bucket.tier.seed, 1)));
    bucket.tier.key_property = kBlockKeyProperty;
    bucket.tier.bytes_max = flag->bytes.value_or(0);
    bucket.tier.pack_bytes = PackBytesFor(memory.queue_bytes);
    // Publishers wait when half of the queue is theirs: what they wait for must not wait for them.
    bucket.tier.enough_bytes = memory.queue_bytes / 8;
    bucket.tier.index_bytes_max = memory.index_bytes;
    bucket.tier.queue_bytes_max = memory.queue_bytes;
    bucket.tier.read_bytes_max = memory.read_bytes;
    bucket.tier.get_patience = flag->patience;
    bucket.tier.merge_every = kMergeEvery;
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

// The user's cache, for a node that has nowhere else to keep things. Without room for it, or if it
// is another node's, the node goes without.
Result<std::optional<DiskMount::Options>> PrepareCache(const NodeConfig& config,
                                                       uint64_t ram_bytes) {
  if (!config.disks.empty() || !config.buckets.empty()) {
    return std::optional<DiskMount::Options>();
  }
  KVCAST_TRY(const CacheDirectory cache,
             CacheDirectory::Of(config.cache_directory, config.cache_bytes));
  if (cache.path.empty()) {
    return std::optional<DiskMount::Options>();
  }
  DiskMount::Options disk = DiskOf(cache.path, cache.bytes, MemoryOfTier(ram_bytes, 1));
  disk.needed = config.origins.contains("cache.directory");
  disk.eviction = config.eviction;
  if (!disk.needed && disk.tier.bytes_max < disk.tier.LeastBytes()) {
    return std::optional<DiskMount::Options>();
  }
  return std::optional(disk);
}

// Tiers below have their share of the memory, and what is on its way to them its bounds.
Result<void> PrepareTiers(const NodeConfig& config, const NodeId& id, uint64_t ram_bytes,
                          NodeServer::Options& node) {
  node.relay.ram_bytes = ram_bytes;
  node.relay.eviction = config.eviction;
  node.relay.warming.bytes_per_second = config.warm_rate_bytes;
  node.relay.warming.burst_bytes = config.warm_rate_bytes / kWarmBurstPart;
  KVCAST_TRY(const std::optional<DiskMount::Options> cache, PrepareCache(config, ram_bytes));
  const size_t tiers = config.disks.size() + config.buckets.size() + (cache ? 1 : 0);
  if (tiers == 0) {
    return {};
  }
  const TierMemory memory = MemoryOfTier(ram_bytes, tiers);
  KVCAST_TRY(node.disks, PrepareDisks(config, memory));
  if (cache) {
    node.disks.push_back(*cache);
  }
  node.buckets = PrepareBuckets(config.buckets, id, memory);
  node.relay.reads.bytes_max =
      std::clamp(ram_bytes / kReadDeskShare, kReadDeskLeast, kReadDeskMost);
  node.relay.ram_bytes = ram_bytes - ram_bytes / 4 - node.relay.reads.bytes_max -
                         node.disks.size() * memory.extra_bytes;
  node.relay.demoting_bytes_max = memory.queue_bytes / 2;
  node.relay.limits.pledged_bytes = memory.queue_bytes / 2;
  return {};
}

using Reservations = std::map<std::string, uint64_t>;

// Throws for one that says nothing.
Reservations TakeReservations(const std::vector<ReservationConfig>& configured) {
  Reservations reservations;
  for (const auto& [name, size, origin] : configured) {
    const Result<Tenant> tenant = Tenant::Of(name);
    const Result<uint64_t> bytes = ParseBytes(size);
    if (!tenant.ok() || !bytes.ok()) {
      throw CLI::ValidationError(origin, (!tenant.ok() ? tenant.error() : bytes.error()).message());
    }
    if (!reservations.emplace(tenant->name(), *bytes).second) {
      throw CLI::ValidationError(origin, "'" + tenant->name() + "' is there twice");
    }
  }
  return reservations;
}

// Together no more than the memory that blocks have.
Reservations RamReservations(const std::vector<ReservationConfig>& configured, uint64_t ram_bytes) {
  RamTierOptions ram;
  ram.bytes_max = ram_bytes;
  ram.reservations = TakeReservations(configured);
  if (const Result<RamTier> tier = RamTier::Of(ram); !tier.ok()) {
    throw CLI::ValidationError(configured.back().origin, tier.error().message());
  }
  return ram.reservations;
}

}  // namespace

uint64_t PackBytesFor(uint64_t queue_bytes) {
  return BlocksDown(std::clamp(queue_bytes / 4, kPackBytesLeast, kPackBytesMost));
}

Result<void> PlanStorage(const NodeConfig& config, const NodeId& id, uint64_t ram_bytes,
                         NodeServer::Options& node) {
  KVCAST_TRY_VOID(PrepareTiers(config, id, ram_bytes, node));
  node.relay.reservations = RamReservations(config.reservations, node.relay.ram_bytes);
  const Reservations on_disk = TakeReservations(config.disk_reservations);
  for (DiskMount::Options& disk : node.disks) {
    disk.reservations = on_disk;
  }
  const Reservations in_bucket = TakeReservations(config.bucket_reservations);
  for (BucketMount::Options& bucket : node.buckets) {
    bucket.tier.reservations = in_bucket;
  }
  node.relay.reads.patience = kReadPatience;
  return {};
}

}  // namespace kvcast
