#include "kvcast/host/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kvcast/host/forget_file.h"
#include "kvcast/host/storage_plan.h"
#include "kvcast/io/entropy.h"
#include "kvcast/object/track_shard.h"
#include "kvcast/relay/ring_watch.h"

namespace kvcast {
namespace {

Error WrittenBy(const std::filesystem::path& directory, size_t were, size_t are) {
  return Error(
             ErrorCode::kUnsupported,
             fmt::format("This directory was written by a node of {} shard{}, and this node is to "
                         "have {}. Start it with --shards {}, or give it another directory. What "
                         "is to be kept, 'kvcast store export' takes out of {}, and 'kvcast store "
                         "import' puts into {} of the new one. Nothing in it was changed.",
                         were, were == 1 ? "" : "s", are, were,
                         were == 1 ? "it" : "each " + ShardName(0, were),
                         are == 1 ? "all" : "each " + ShardName(0, are)))
      .In(directory.string());
}

// Its catalogs, of whatever tenant and model, hash to the shard that writes them.
BootId DrawBoot(const NodeId& node, size_t index, size_t count) {
  for (;;) {
    CatalogTrack catalog{*TrackNamespace::Of({"service", "scope"}), node, {}};
    FillRandom(catalog.boot);
    if (ShardOf(catalog.Name().space(), count) == index) {
      return catalog.boot;
    }
  }
}

void Divide(std::map<std::string, uint64_t>& reservations, size_t count) {
  for (auto& [tenant, bytes] : reservations) {
    bytes /= count;
  }
}

// What an identity has at each shard, however many there are: its tracks may all be there.
constexpr uint64_t kRequestsLeast = 1024;
constexpr uint64_t kBytesLeast = uint64_t{64} << 20;
// The same of connections, which come to shards by chance.
constexpr uint64_t kConnectionsLeast = 16;

// A limit of 0 bounds nothing, and goes on doing so.
uint64_t PartOf(uint64_t limit, uint64_t part, uint64_t least) {
  return std::min(limit, std::max(part, least));
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  FillRandom(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

void DivideTiers(NodeServer::Options& shard, size_t index, size_t count) {
  for (DiskMount::Options& disk : shard.disks) {
    disk.directory /= ShardName(index, count);
    disk.tier.bytes_max /= count;
    disk.tier.index_bytes_max /= count;
    disk.tier.queue_bytes_max /= count;
    disk.tier.read_bytes_max /= count;
    disk.buffer_bytes_max /= count;
    FillRandom(disk.tier.fresh.bytes);
    disk.tier.seed = RandomNumber();
    Divide(disk.reservations, count);
  }
  for (BucketMount::Options& bucket : shard.buckets) {
    bucket.where += " " + ShardName(index, count);  // For people, and for metrics.
    bucket.tier.share = {index, count};
    bucket.tier.owns = shard.relay.owns;
    bucket.tier.bytes_max /= count;
    bucket.tier.index_bytes_max /= count;
    bucket.tier.queue_bytes_max /= count;
    bucket.tier.pack_bytes = PackBytesFor(bucket.tier.queue_bytes_max);
    bucket.tier.read_bytes_max /= count;
    bucket.tier.enough_bytes /= count;
    Divide(bucket.tier.reservations, count);
    bucket.tier.seed = RandomNumber();
  }
}

}  // namespace

std::optional<ShardPlace> ShardPlace::In(std::string_view where) {
  where = where.substr(0, where.find(','));  // What is said of it comes behind.
  while (where.ends_with('/')) {
    where.remove_suffix(1);
  }
  const size_t slash = where.rfind('/');
  std::string_view name = slash == std::string_view::npos ? where : where.substr(slash + 1);
  constexpr std::string_view kBegin = "shard-";
  constexpr std::string_view kMiddle = "-of-";
  if (!name.starts_with(kBegin)) {
    return std::nullopt;
  }
  name.remove_prefix(kBegin.size());
  const auto number = [&name](size_t& value) {
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), value);
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    return problem == std::errc() && value > 0;
  };
  ShardPlace place;
  if (!number(place.index) || !name.starts_with(kMiddle)) {
    return std::nullopt;
  }
  name.remove_prefix(kMiddle.size());
  if (!number(place.count) || !name.empty() || place.index > place.count) {
    return std::nullopt;
  }
  --place.index;
  return place;
}

std::string ShardName(size_t index, size_t count) {
  return fmt::format("shard-{}-of-{}", index + 1, count);
}

Result<void> CheckShardDirectory(const std::filesystem::path& directory, size_t count) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const std::optional<ShardPlace> part = ShardPlace::In(name);
    const size_t were = part ? part->count : 1;
    if ((part || name == "superblock") && were != count) {
      return WrittenBy(directory, were, count);
    }
  }
  return {};  // One that cannot be read is refused when it is opened.
}

NodeId ShardNode(NodeId node, size_t index) {
  node.back() ^= static_cast<std::byte>(index);
  return node;
}

size_t ShardAsked(const NodeId& node, const TrackNamespace& space, size_t count) {
  const bool is_question = space.field_count() == 2 && space.field(0) == relay::RingWatch::kSpace;
  for (size_t shard = 0; is_question && shard < count; ++shard) {
    const NodeId id = ShardNode(node, shard);
    if (space.field(1) == std::string_view(reinterpret_cast<const char*>(id.data()), id.size())) {
      return shard;
    }
  }
  return ShardOf(space, count);
}

relay::Limits ShardLimits(relay::Limits limits, size_t count) {
  limits.node_queue_bytes /= count;
  limits.node_receive_bytes /= count;
  limits.pledged_bytes /= count;
  // Not what is asked of prefixes, and sessions: every shard hears of all of them.
  for (size_t* const limit :
       {&limits.requests_per_second, &limits.requests_burst, &limits.useless_per_second,
        &limits.useless_burst, &limits.streams_max, &limits.data_streams_max,
        &limits.publications_max, &limits.subscriptions_max, &limits.fetches_max}) {
    *limit = PartOf(*limit, *limit / count * 2, kRequestsLeast);
  }
  for (size_t* const limit : {&limits.identity_queue_bytes, &limits.identity_receive_bytes}) {
    *limit = PartOf(*limit, *limit / count * 2, kBytesLeast);
  }
  return limits;
}

QuicServer::Options ShardDoor(QuicServer::Options door, size_t count) {
  for (size_t* const limit :
       {&door.connections_max, &door.handshakes_max, &door.handshakes_before_retry}) {
    *limit = PartOf(*limit, (*limit + count - 1) / count, kConnectionsLeast);
  }
  return door;
}

Result<NodeServer::Options> ShardOptions(const NodeServer::Options& node, size_t index,
                                         size_t count, const std::filesystem::path& state) {
  for (const DiskMount::Options& disk : node.disks) {
    KVCAST_TRY_VOID(CheckShardDirectory(disk.directory, count));
  }
  NodeServer::Options shard = node;
  if (count == 1) {
    return shard;
  }
  shard.relay.ram_bytes /= count;
  Divide(shard.relay.reservations, count);
  shard.relay.demoting_bytes_max /= count;
  shard.relay.warming.bytes_per_second /= count;
  shard.relay.warming.burst_bytes /= count;
  shard.relay.reads.bytes_max /= count;
  shard.relay.limits = ShardLimits(shard.relay.limits, count);
  shard.quic = ShardDoor(shard.quic, count);
  shard.relay.node = ShardNode(node.relay.node, index);
  shard.relay.boot = DrawBoot(shard.relay.node, index, count);
  shard.relay.secret = RandomNumber();
  shard.relay.owns = [index, count](const TrackNamespace& space) {
    return ShardOf(space, count) == index;
  };
  DivideTiers(shard, index, count);
  if (index > 0 && node.keep_forgotten) {
    const std::filesystem::path forgotten =
        state / (ShardName(index, count) + "-" + std::string(kForgetFile));
    if (std::filesystem::exists(forgotten)) {
      KVCAST_TRY(shard.relay.forgotten, ReadForgetFile(forgotten));
    }
    shard.keep_forgotten = [forgotten](const relay::ForgetMemory& memory) {
      return WriteForgetFile(forgotten, memory);
    };
  }
  return shard;
}

}  // namespace kvcast
