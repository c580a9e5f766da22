#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/host/node_server.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// By which a node is told who may do what there.
struct AccessFlags {
  std::string tokens;

  // Throws CLI::ValidationError where a node would be open to other machines: what anybody can
  // reach must ask them who they are. `requires_clients`: by their certificates.
  // `naming` says where the address was told.
  void CheckListen(const std::string& naming, const std::string& text, const SocketAddress& listen,
                   bool requires_clients) const;
  Result<void> Apply(bool requires_clients, NodeServer::Options& node) const;
};

// Whom a node takes, as it says when it starts; empty for everybody.
std::string AccessLine(bool requires_clients, const NodeServer::Options& node);

}  // namespace kvcast
