#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/relay/limits.h"

namespace kvcast {

// A directory, a bucket or an upstream as it is configured: where it is, and what is said of it.
struct TierConfig {
  std::string where;
  std::vector<std::pair<std::string, std::string>> words;
  std::string origin;  // Who says so: "--disk", or "node.toml:12".

  // Whoever says so.
  bool IsLike(const TierConfig& other) const {
    return where == other.where && words == other.words;
  }
};

// What is kept for a tenant, in memory or in each directory.
struct ReservationConfig {
  std::string tenant;
  std::string bytes;
  std::string origin;
};

// All that a node can be told before it starts, with what holds where nothing is said. What each
// member means is said once, in config_key.cc, which has a row for each.
//
// Values are as they were written: whether there is such a machine, file or address is found out
// when the node is prepared, and a refusal names the origin.
struct NodeConfig {
  std::string listen = "127.0.0.1:4433";
  std::string ready_file;
  std::string state_directory;
  uint64_t shards = 1;

  std::string certificate;
  std::string key;
  std::string client_authorities;
  std::string tokens;

  std::string ram = "auto";
  bool prefault = true;
  std::string eviction = "default";  // Of directories, too, that do not say otherwise.
  uint64_t warm_rate_bytes = uint64_t{256} << 20;  // A second.
  std::vector<ReservationConfig> reservations;
  std::vector<ReservationConfig> disk_reservations;
  std::vector<ReservationConfig> bucket_reservations;

  std::string cache_directory = "auto";
  std::string cache_bytes = "auto";
  std::vector<TierConfig> disks;
  std::vector<TierConfig> buckets;

  // Who is asked for what is not here.
  std::vector<TierConfig> upstreams;
  std::string upstream_authorities;
  std::string upstream_certificate;
  std::string upstream_key;
  std::string upstream_token_file;

  std::string congestion = "auto";
  std::string qlog_directory;
  QuicServer::Options quic;
  moqt::Limits session = SessionLimits();
  relay::Limits relay;

  // "none": nowhere.
  std::string admin = "127.0.0.1:4480";
  Duration canary_every = std::chrono::seconds(5);
  Duration canary_patience = std::chrono::seconds(1);

  // How long peers have to finish once the node is asked to stop, and what is on its way to a disk
  // or a bucket after that.
  Duration drain = std::chrono::seconds(2);
  Duration flush = std::chrono::seconds(10);

  // Where each key that was set was set, by its full name; others have their defaults.
  std::map<std::string, std::string, std::less<>> origins;

  // What a session may ask for is bounded by who it is (relay::Limits), and of relays by bytes
  // alone: its own bound on requests only keeps one within what it is granted streams for.
  static moqt::Limits SessionLimits() {
    moqt::Limits limits;
    limits.requests_max = QuicOptions().peer_streams_bidi;
    return limits;
  }
  // Those of a section that is a list of them: disk, bucket or upstream.
  std::vector<TierConfig>& Listed(std::string_view section);
  const std::vector<TierConfig>& Listed(std::string_view section) const;
  // Those of a section that is a list of tenants; null: it is none.
  std::vector<ReservationConfig>* Reservations(std::string_view section) {
    return section == "reserve.memory"   ? &reservations
           : section == "reserve.disk"   ? &disk_reservations
           : section == "reserve.bucket" ? &bucket_reservations
                                         : nullptr;
  }
  const std::vector<ReservationConfig>* Reservations(std::string_view section) const {
    return const_cast<NodeConfig*>(this)->Reservations(section);
  }
  // How a refusal begins: "--ram", or "node.toml:3: memory.ram".
  std::string Naming(std::string_view section, std::string_view name) const;
};

}  // namespace kvcast
