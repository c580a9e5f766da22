#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// The options by which a node is told where its objects rest.
struct StorageFlags {
  std::string ram;  // Empty: as much as the machine suggests.
  bool no_prefault = false;
  std::vector<std::string> disks;
  std::vector<std::string> buckets;
  std::vector<std::string> reservations;
  std::vector<std::string> disk_reservations;

  // Adds them to a command; `flags` must outlive it.
  static void AddTo(CLI::App& command, StorageFlags& flags);
  // Divides a node's memory among its tiers, and says where those are. Throws what CLI11 throws for
  // an option that makes no sense.
  Result<void> Apply(const NodeId& id, uint64_t ram_bytes, NodeServer::Options& node) const;
};

}  // namespace kvcast
