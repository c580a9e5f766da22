#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kvcast/base/chunk.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/relay/access.h"
#include "kvcast/relay/forget_memory.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/upstream_peers.h"
#include "kvcast/store/read_desk.h"
#include "kvcast/store/warm_queue.h"

namespace kvcast::relay {

// What a relay is made with.
struct RelayOptions {
  size_t ram_bytes = size_t{4} << 30;
  // Of ram_bytes, by tenant: what others cannot evict. REQUIRES: RamTier::Of() takes them.
  std::map<std::string, uint64_t> reservations{};
  ChunkPool* payload_chunks = nullptr;  // Where sessions put payloads; outlives the relay.
  NodeId node{};
  BootId boot{};
  uint64_t secret = 0;  // Random: what peers name and key must not collide at their will.
  Limits limits;
  uint64_t epoch_us = 0;  // What the time of day is at Instant(), in microseconds since 1970.
  uint64_t demoting_bytes_max = uint64_t{64} << 20;  // On their way from RAM to tiers below.
  ReadDesk::Limits reads;
  std::string eviction = "default";  // From RAM, one of EvictionNames().
  WarmQueue::Limits warming{};
  Access::Options access{};  // Who may do what; everybody everything, if nothing is said.
  std::vector<UpstreamPeers::Route> upstreams;  // The preferred ones first.
  ForgetMemory forgotten{};                     // As it was when the last run ended.
  // Which tracks are this relay's, of those that it may hear of from upstreams; others of the same
  // node have the rest. Empty: all.
  std::function<bool(const TrackNamespace&)> owns{};
};

}  // namespace kvcast::relay
