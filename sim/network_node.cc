#include "sim/network_node.h"

#include <algorithm>
#include <utility>

#include "kvcast/catalog/block_key.h"
#include "kvcast/store/disk_eviction.h"

namespace kvcast::sim {
namespace {

using std::chrono::seconds;

constexpr size_t kNetworkRamPlenty = 8 << 20;
constexpr size_t kNetworkRamLittle = 40 << 10;
constexpr uint64_t kNetworkSegmentBytes = 32 << 10;
constexpr uint64_t kNetworkDiskBytes = kSuperblockBytes + 24 * kNetworkSegmentBytes;
// As a host has it: how long a start waits for tiers that do not answer.
constexpr Duration kDiskPatience = seconds(30);
constexpr Duration kBucketPatience = seconds(10);

}  // namespace

NetworkNode::NetworkNode(Shape shape, MemoryBucket& bucket, uint64_t seed)
    : shape_(std::move(shape)), random_(seed), device_(random_.Next()), side_(bucket) {}

size_t NetworkNode::ram_bytes() const {
  return shape_.little ? kNetworkRamLittle : kNetworkRamPlenty;
}

void NetworkNode::Start(Instant now) {
  ++life_;
  started_at_ = now;
  relay::Relay::Options options;
  options.ram_bytes = ram_bytes();
  options.node.fill(static_cast<std::byte>(shape_.number + 1));
  options.boot[0] = static_cast<std::byte>(life_);
  options.boot[1] = static_cast<std::byte>(life_ >> 8);
  options.secret = random_.Next();
  options.epoch_us = epoch_us_;
  options.limits.epoch_bytes_min = 512;
  options.limits.stall_patience = seconds(15);
  options.limits.node_queue_bytes = 256 << 10;
  options.limits.upstream_ahead_bytes = 16 << 10;
  for (size_t i = 0; i < shape_.upstreams.size(); ++i) {
    options.upstreams.push_back(
        {.name = "upstream", .prefixes = {TrackNamespace()}, .hears = shape_.offers});
  }
  metrics_ = std::make_unique<Metrics>();
  relay_ = std::make_unique<relay::Relay>(options, *metrics_);
  if (shape_.disk) {
    DiskTierOptions disk;
    disk.bytes_max = kNetworkDiskBytes;
    disk.segment_bytes = kNetworkSegmentBytes;
    disk.key_property = kBlockKeyProperty;
    disk.seed = random_.Next();
    random_.Fill(disk.fresh.bytes);
    DiskEvictionOptions eviction;
    eviction.limits = {.bytes_max = kNetworkDiskBytes, .ghosts_max = 100};
    auto tier = std::make_unique<DiskTier>(disk, *DiskEviction::Of(eviction));
    disk_ = tier.get();
    relay_->AddTier(TierKind::kDisk, std::move(tier));
  }
  if (shape_.bucket) {
    BucketTierOptions bucket;
    bucket.prefix = "node" + std::to_string(shape_.number);
    bucket.node.bytes.fill(static_cast<std::byte>(shape_.number + 1));
    bucket.seed = random_.Next();
    bucket.key_property = kBlockKeyProperty;
    bucket.pack_bytes = 32 << 10;
    bucket.queue_bytes_max = 256 << 10;
    auto tier = std::make_unique<BucketTier>(bucket);
    remote_ = tier.get();
    relay_->AddTier(TierKind::kBucket, std::move(tier));
  }
}

void NetworkNode::Die(bool power_cut) {
  relay_.reset();
  disk_ = nullptr;
  remote_ = nullptr;
  side_.Abandon();
  device_ = power_cut ? device_.AfterPowerCut(random_) : device_.AfterKill();
  disk_asleep_until_ = Instant();
}

void NetworkNode::LoseDisk() { device_ = MemoryDevice(random_.Next()); }

void NetworkNode::StepClock(Duration leap, int64_t wall_us) {
  ahead_ += leap;
  epoch_us_ = static_cast<uint64_t>(static_cast<int64_t>(epoch_us_) + wall_us);
}

void NetworkNode::Heal() {
  device_.faults() = {};
  disk_asleep_until_ = Instant();
}

bool NetworkNode::IsServing(Instant now) const {
  if (!alive()) {
    return false;
  }
  const bool disk_late = disk_ == nullptr || disk_->ready() || now >= started_at_ + kDiskPatience;
  const bool bucket_late =
      remote_ == nullptr || remote_->ready() || now >= started_at_ + kBucketPatience;
  return relay_->opened() || (disk_late && bucket_late && relay_->listed());
}

bool NetworkNode::StepDisk(Instant now) {
  if (disk_ == nullptr || now < disk_asleep_until_) {
    return false;
  }
  for (DeviceRequest& request : disk_->TakeRequests()) {
    device_.Submit(std::move(request));
  }
  const std::optional<DeviceCompletion> completion = device_.Next();
  if (completion) {
    disk_->OnCompletion(*completion, Clock(now));
  }
  return completion.has_value();
}

bool NetworkNode::StepBucket(Instant now) {
  if (remote_ == nullptr) {
    return false;
  }
  side_.OnTime(Clock(now));
  for (BucketRequest& request : remote_->TakeRequests(Clock(now))) {
    side_.Submit(std::move(request));
  }
  std::optional<BucketCompletion> completion = side_.Next();
  if (!completion) {
    return false;
  }
  remote_->OnCompletion(*std::move(completion), Clock(now));
  return true;
}

bool NetworkNode::StepTiers(Instant now) {
  const bool disk = StepDisk(now);
  const bool bucket = StepBucket(now);
  if (disk || bucket) {
    relay_->OnTimeout(Clock(now));
  }
  return disk || bucket;
}

void NetworkNode::OnTime(Instant now) {
  const std::optional<Instant> due = relay_->deadline();
  if (due && *due <= Clock(now)) {
    relay_->OnTimeout(Clock(now));
  }
}

std::optional<Instant> NetworkNode::deadline(Instant now) const {
  if (!alive()) {
    return starts_at;
  }
  std::optional<Instant> due = relay_->deadline();
  if (remote_ != nullptr) {
    const std::optional<Instant> bucket = side_.deadline();
    due = due && bucket ? std::min(*due, *bucket) : (due ? due : bucket);
  }
  if (due) {
    due = std::max(*due - ahead_, now);
  }
  if (disk_asleep_until_ > now) {
    due = due ? std::min(*due, disk_asleep_until_) : disk_asleep_until_;
  }
  return due;
}

std::string NetworkNode::Excess() {
  if (!alive()) {
    return "";
  }
  if (relay_->stored_bytes() > ram_bytes()) {
    return "memory holds " + std::to_string(relay_->stored_bytes()) + " bytes, " +
           std::to_string(relay_->pinned_bytes()) + " of them for fetches, and " +
           std::to_string(metrics_->Value("kvcast_relay_receiving_bytes")) + " are on their way";
  }
  if (relay_->fetch_count() == 0 && relay_->pinned_bytes() > 0) {
    return std::to_string(relay_->pinned_bytes()) + " bytes are held for fetches that are over";
  }
  // Of every block that is listed something is there, and here nothing but memory has it.
  if (!shape_.disk && !shape_.bucket && relay_->listed_blocks() > relay_->stored_objects()) {
    return "more blocks are listed than there are objects";
  }
  if (shape_.disk && device_.bytes() > kNetworkDiskBytes) {
    return "a disk has files of " + std::to_string(device_.bytes()) + " bytes";
  }
  return "";
}

}  // namespace kvcast::sim
