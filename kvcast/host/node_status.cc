#include "kvcast/host/node_status.h"

#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"
#include "kvcast/host/version.h"

namespace kvcast {
namespace {

constexpr size_t kPeersShown = 256;

Json DiskStatus(const DiskMount& disk) {
  const DiskTier& tier = disk.tier();
  Json status = {{"kind", "disk"},
                 {"where", disk.directory().string()},
                 {"ready", tier.ready()},
                 {"bytes_max", disk.options().tier.bytes_max}};
  status["bytes"] = tier.ready() ? tier.allocated_bytes() : 0;
  status["objects"] = tier.ready() ? tier.index().object_count() : 0;
  return status;
}

Json BucketStatus(const BucketMount& bucket) {
  const BucketTier& tier = bucket.tier();
  const uint64_t bytes_max = bucket.options().tier.bytes_max;
  Json status = {{"kind", "bucket"},
                 {"where", bucket.options().where},
                 {"ready", tier.ready() && !tier.away()},
                 {"bytes", tier.packs().own_bytes},
                 {"objects", tier.index().object_count()}};
  status["bytes_max"] = bytes_max == 0 ? Json(nullptr) : Json(bytes_max);
  return status;
}

Json UpstreamStatus(const UpstreamLink& upstream) {
  return {{"upstream", upstream.options().name},
          {"connected", upstream.connected()},
          {"connections", upstream.connections()}};
}

}  // namespace

Json NodeStatus(NodeServer& node, Duration uptime, bool ready) {
  Json peers = Json::array();
  for (const auto& [id, peer] : node.peers()) {
    if (peers.size() == kPeersShown) {
      break;
    }
    if (peer->is_guest) {
      continue;  // Its home shows it.
    }
    peers.push_back({{"peer", id}, {"from", peer->line().from}});
  }
  Json tiers = Json::array({{{"kind", "ram"},
                             {"where", nullptr},
                             {"ready", true},
                             {"bytes", node.relay().stored_bytes()},
                             {"bytes_max", node.options().relay.ram_bytes},
                             {"objects", node.relay().stored_objects()}}});
  for (const auto& disk : node.disks()) {
    tiers.push_back(DiskStatus(*disk));
  }
  for (const auto& bucket : node.buckets()) {
    tiers.push_back(BucketStatus(*bucket));
  }
  Json upstreams = Json::array();
  for (const auto& upstream : node.upstreams()) {
    upstreams.push_back(UpstreamStatus(*upstream));
  }
  return {{"version", Version()},
          {"node", ToHex(node.options().relay.node)},
          {"boot", ToHex(node.options().relay.boot)},
          {"listen", node.local().ToString()},
          {"uptime_s", std::chrono::duration_cast<std::chrono::seconds>(uptime).count()},
          {"ready", ready},
          {"shards", node.options().shard.count},
          {"peer_count", node.peer_count()},
          {"peers", std::move(peers)},
          {"tiers", std::move(tiers)},
          {"upstreams", std::move(upstreams)},
          {"catalogs", node.relay().catalog_count()},
          {"listed_blocks", node.relay().listed_blocks()}};
}

void AddShardStatus(Json& status, const Json& shard) {
  for (const char* const sum : {"peer_count", "catalogs", "listed_blocks"}) {
    status[sum] = status[sum].get<uint64_t>() + shard[sum].get<uint64_t>();
  }
  for (const Json& peer : shard["peers"]) {
    if (status["peers"].size() < kPeersShown) {
      status["peers"].push_back(peer);
    }
  }
  // Each has sessions of its own to all of them.
  for (size_t i = 0; i < status["upstreams"].size(); ++i) {
    Json& upstream = status["upstreams"][i];
    const Json& same = shard["upstreams"][i];
    upstream["connected"] = upstream["connected"].get<bool>() && same["connected"].get<bool>();
    upstream["connections"] =
        upstream["connections"].get<uint64_t>() + same["connections"].get<uint64_t>();
  }
  // Memory is one tier, which comes first; directories and packs are each shard's own.
  for (const char* const sum : {"bytes", "bytes_max", "objects"}) {
    Json& ram = status["tiers"][0];
    ram[sum] = ram[sum].get<uint64_t>() + shard["tiers"][0][sum].get<uint64_t>();
  }
  for (size_t i = 1; i < shard["tiers"].size(); ++i) {
    status["tiers"].push_back(shard["tiers"][i]);
  }
}

}  // namespace kvcast
