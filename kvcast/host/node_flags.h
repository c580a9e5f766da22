#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/host/node_address.h"

namespace kvcast {

// The options by which a command is told which node to talk to.
struct NodeFlags {
  std::string node;
  std::string authorities;

  // Adds them to a command; `flags` must outlive it. Returns --node.
  static CLI::Option* AddTo(CLI::App& command, NodeFlags& flags);
  Result<NodeAddress> Address() const { return NodeAddress::Parse(node, authorities); }
};

}  // namespace kvcast
