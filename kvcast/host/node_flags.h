#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/quic_flags.h"
#include "kvcast/host/trust_flags.h"

namespace kvcast {

// The options by which a command is told which node to talk to, and how to be sure of it.
struct NodeFlags {
  std::vector<std::string> nodes;  // In order of preference.
  TrustFlags trust;
  QuicFlags quic;

  // Adds them to a command; `flags` must outlive it. Returns --node.
  static CLI::Option* AddTo(CLI::App& command, NodeFlags& flags);
  // The same, of a command that goes on to the next node where one is not there.
  static CLI::Option* AddSeveralTo(CLI::App& command, NodeFlags& flags);
  // REQUIRES: one was named.
  Result<NodeAddress> Address() const;
  Result<std::vector<NodeAddress>> Addresses() const;
};

}  // namespace kvcast
