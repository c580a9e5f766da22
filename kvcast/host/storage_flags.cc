#include "kvcast/host/storage_flags.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "kvcast/catalog/block_key.h"
#include "kvcast/host/bucket_flag.h"
#include "kvcast/host/disk_flag.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/human_units.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

// A disk that has not answered after this is taken not to have it,
constexpr Duration kReadPatience = std::chrono::seconds(30);
// and so is a bucket: computing a block again takes about as long.
constexpr Duration kBucketReadPatience = std::chrono::seconds(2);
// Of a bucket's packs.
constexpr uint64_t kPackBytesLeast = uint64_t{4} << 20;
constexpr uint64_t kPackBytesMost = uint64_t{64} << 20;

// What tiers below take of a node's memory: a quarter, for their indexes, and for what is on its
// way to them and from them.
struct TierMemory {
  uint64_t index_bytes = 0;
  uint64_t queue_bytes = 0;
  uint64_t read_bytes = 0;
};

TierMemory MemoryOfTier(uint64_t ram_bytes, size_t tiers) {
  const uint64_t share = ram_bytes / 4 / tiers;
  return {share / 4, share / 2, share / 4};
}

Result<std::vector<DiskMount::Options>> PrepareDisks(const std::vector<std::string>& flags,
                                                     const TierMemory& memory) {
  std::vector<DiskMount::Options> disks;
  for (const std::string& text : flags) {
    const Result<DiskFlag> flag = DiskFlag::Parse(text);
    if (!flag.ok()) {
      throw CLI::ValidationError("--disk", flag.error().message());
    }
    DiskMount::Options disk;
    disk.directory = flag->directory;
    disk.admission = flag->admission;
    disk.tier.disk_class = flag->disk_class;
    if (flag->bytes) {
      disk.tier.bytes_max = *flag->bytes;
    } else {
      KVCAST_TRY(disk.tier.bytes_max, flag->DefaultBytes());
    }
    disk.tier.index_bytes_max = memory.index_bytes;
    disk.tier.queue_bytes_max = memory.queue_bytes;
    disk.tier.read_bytes_max = memory.read_bytes;
    disk.tier.key_property = kBlockKeyProperty;
    FillRandom(disk.tier.fresh.bytes);
    FillRandom(std::as_writable_bytes(std::span(&disk.tier.seed, 1)));
    disks.push_back(std::move(disk));
  }
  return disks;
}

// `node`: whose packs they are.
std::vector<BucketMount::Options> PrepareBuckets(const std::vector<std::string>& flags,
                                                 const NodeId& node, const TierMemory& memory) {
  std::vector<BucketMount::Options> buckets;
  for (const std::string& text : flags) {
    const Result<BucketFlag> flag = BucketFlag::Parse(text);
    if (!flag.ok()) {
      throw CLI::ValidationError("--bucket", flag.error().message());
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
    bucket.tier.pack_bytes =
        BlocksDown(std::clamp(memory.queue_bytes / 4, kPackBytesLeast, kPackBytesMost));
    // Publishers wait when half of the queue is theirs: what they wait for must not wait for them.
    bucket.tier.enough_bytes = memory.queue_bytes / 8;
    bucket.tier.index_bytes_max = memory.index_bytes;
    bucket.tier.queue_bytes_max = memory.queue_bytes;
    bucket.tier.read_bytes_max = memory.read_bytes;
    bucket.tier.get_patience = kBucketReadPatience;
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

// Tiers below have their share of the memory, and what is on its way to them its bounds.
Result<void> PrepareTiers(const StorageFlags& flags, const NodeId& id, uint64_t ram_bytes,
                          NodeServer::Options& node) {
  node.relay.ram_bytes = ram_bytes;
  const size_t tiers = flags.disks.size() + flags.buckets.size();
  if (tiers == 0) {
    return {};
  }
  const TierMemory memory = MemoryOfTier(ram_bytes, tiers);
  KVCAST_TRY(node.disks, PrepareDisks(flags.disks, memory));
  node.buckets = PrepareBuckets(flags.buckets, id, memory);
  node.relay.ram_bytes = ram_bytes - ram_bytes / 4;
  node.relay.demoting_bytes_max = memory.queue_bytes / 2;
  node.relay.limits.pledged_bytes = memory.queue_bytes / 2;
  return {};
}

// TENANT=SIZE each.
Result<std::map<std::string, uint64_t>> ParseReservations(const std::vector<std::string>& flags) {
  std::map<std::string, uint64_t> reservations;
  for (const std::string& flag : flags) {
    const size_t equals = std::min(flag.find('='), flag.size());
    KVCAST_TRY(const Tenant tenant, Tenant::Of(flag.substr(0, equals)));
    KVCAST_TRY(const uint64_t bytes, ParseBytes(flag.substr(std::min(equals + 1, flag.size()))));
    if (!reservations.emplace(tenant.name(), bytes).second) {
      return Error(ErrorCode::kInvalid, "'" + tenant.name() + "' is there twice.");
    }
  }
  return reservations;
}

// Together no more than the memory that blocks have.
Result<std::map<std::string, uint64_t>> RamReservations(const std::vector<std::string>& flags,
                                                        uint64_t ram_bytes) {
  RamTierOptions ram;
  ram.bytes_max = ram_bytes;
  KVCAST_TRY(ram.reservations, ParseReservations(flags));
  if (const Result<RamTier> tier = RamTier::Of(ram); !tier.ok()) {
    return tier.error();
  }
  return ram.reservations;
}

}  // namespace

void StorageFlags::AddTo(CLI::App& command, StorageFlags& flags) {
  command.add_option("--ram", flags.ram, "Memory for blocks, their names and their index")
      ->type_name("SIZE")
      ->default_str("4GiB, or half of the memory there is if that is less");
  command
      .add_option("--reserve", flags.reservations,
                  "Of that memory, keep so much for a tenant's blocks: others do not evict them; "
                  "may be given several times")
      ->type_name("TENANT=SIZE");
  command.add_flag("--no-prefault", flags.no_prefault,
                   "Take memory from the machine as it is needed, instead of at the start");
  command
      .add_option("--disk", flags.disks,
                  "Keep objects in this directory as well; may be given several times. bytes is "
                  "for all of its files (half of the file system if it is not given), class is "
                  "ssd or hdd, admit says which of the blocks that memory evicts are written: "
                  "all, or second for those that come a second time")
      ->type_name(kDiskGrammar);
  command
      .add_option("--bucket", flags.buckets,
                  "Keep objects in this S3 bucket as well, which nodes may share. endpoint is the "
                  "server, if it is not Amazon's; style is path or host; bytes is for what this "
                  "node puts there (no bound if it is not given); credentials are read from "
                  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from a file")
      ->type_name(kBucketGrammar);
  command
      .add_option("--reserve-disk", flags.disk_reservations,
                  "Of each directory, keep so much for a tenant's blocks: others do not evict "
                  "them; may be given several times, for half of a directory in all")
      ->type_name("TENANT=SIZE");
}

Result<void> StorageFlags::Apply(const NodeId& id, uint64_t ram_bytes,
                                 NodeServer::Options& node) const {
  KVCAST_TRY_VOID(PrepareTiers(*this, id, ram_bytes, node));
  const auto in_ram = RamReservations(reservations, node.relay.ram_bytes);
  if (!in_ram.ok()) {
    throw CLI::ValidationError("--reserve", in_ram.error().message());
  }
  const auto on_disk = ParseReservations(disk_reservations);
  if (!on_disk.ok()) {
    throw CLI::ValidationError("--reserve-disk", on_disk.error().message());
  }
  for (DiskMount::Options& disk : node.disks) {
    disk.reservations = *on_disk;
  }
  node.relay.reservations = *in_ram;
  node.relay.reads.patience = kReadPatience;
  return {};
}

}  // namespace kvcast
