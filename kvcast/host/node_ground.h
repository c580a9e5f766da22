#pragma once

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/node_state.h"
#include "kvcast/host/payload_memory.h"

namespace kvcast {

// What a node runs with, once the machine has been asked for it.
struct NodeGround {
  NodeState state;
  ServerCredentials credentials;
  NodeServer::Options node;
  PayloadShare payloads;

  // Throws what CLI11 throws for a configuration that makes no sense on this machine.
  static Result<NodeGround> Prepare(const NodeConfig& config);
};

// Invalid: the certificate does not go with the rest, or with where the node listens.
Result<void> CheckCertificate(const NodeConfig& config, const SocketAddress& listen);
// What connections are set up with; `before` has what is not configured.
QuicServer::Options QuicOf(const NodeConfig& config, const QuicServer::Options& before = {});
// The certificate to show, and whose to ask for.
Result<ServerCredentials> CredentialsOf(const NodeConfig& config, const NodeState& state);

}  // namespace kvcast
