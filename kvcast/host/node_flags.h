#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/quic_flags.h"
#include "kvcast/host/trust_flags.h"

namespace kvcast {

// The options by which a command is told which node to talk to, and how to be sure of it.
struct NodeFlags {
  std::string node;
  TrustFlags trust;
  QuicFlags quic;

  // Adds them to a command; `flags` must outlive it. Returns --node.
  static CLI::Option* AddTo(CLI::App& command, NodeFlags& flags);
  Result<NodeAddress> Address() const;
};

}  // namespace kvcast
