#include "kvcast/host/node_ground.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <span>
#include <utility>

#include "kvcast/host/access_flags.h"
#include "kvcast/host/forget_file.h"
#include "kvcast/host/node_memory.h"
#include "kvcast/host/storage_plan.h"
#include "kvcast/host/upstream_flags.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

// What the time of day was at Instant(), by which objects on disk are dated.
uint64_t EpochMicroseconds() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto now = duration_cast<microseconds>(WallNow().time_since_epoch());
  return static_cast<uint64_t>((now - duration_cast<microseconds>(Now() - Instant())).count());
}

}  // namespace

Result<void> CheckCertificate(const NodeConfig& config, const SocketAddress& listen) {
  if (config.certificate.empty() != config.key.empty()) {
    return Error(ErrorCode::kInvalid,
                 config.Naming("tls", config.certificate.empty() ? "key" : "certificate") +
                     ": A certificate and its key go together: --cert and --key");
  }
  if (config.certificate.empty() && !listen.is_loopback()) {
    return Error(ErrorCode::kInvalid,
                 config.Naming("listen", "address") + ": " + config.listen +
                     " can be reached from other machines, and the development certificate is for "
                     "this one alone. Listen on 127.0.0.1, or give --cert and --key, which 'kvcast "
                     "cert' makes");
  }
  return {};
}

QuicServer::Options QuicOf(const NodeConfig& config, const QuicServer::Options& before) {
  QuicServer::Options quic = config.quic;
  quic.socket = before.socket;
  quic.secret = before.secret;
  if (config.congestion != "auto") {
    quic.connection.congestion_control =
        config.congestion == "cubic" ? CongestionControl::kCubic : CongestionControl::kBbr;
  }
  quic.connection.qlog_directory = config.qlog_directory;
  return quic;
}

Result<ServerCredentials> CredentialsOf(const NodeConfig& config, const NodeState& state) {
  KVCAST_TRY(ServerCredentials credentials,
             config.certificate.empty()
                 ? ServerCredentials::Development(state.directory())
                 : ServerCredentials::FromFiles({config.certificate, config.key}));
  if (!config.client_authorities.empty()) {
    KVCAST_TRY_VOID(credentials.RequireClientsOf(config.client_authorities));
  }
  return credentials;
}

Result<NodeGround> NodeGround::Prepare(const NodeConfig& config) {
  KVCAST_TRY(const MemoryFacts memory, ProbeMemory());
  const Result<uint64_t> ram_bytes = NodeMemory(config.ram == "auto" ? "" : config.ram, memory);
  if (!ram_bytes.ok()) {
    throw CLI::ValidationError(config.Naming("memory", "ram"), ram_bytes.error().message());
  }
  KVCAST_TRY(const SocketAddress listen, SocketAddress::Resolve(config.listen));
  if (const Result<void> fits = CheckCertificate(config, listen); !fits.ok()) {
    throw CLI::ValidationError(fits.error().message());
  }
  const AccessFlags access{config.tokens};
  access.CheckListen(config.Naming("listen", "address"), config.listen, listen,
                     !config.client_authorities.empty());
  Result<std::filesystem::path> directory = config.state_directory.empty()
                                                ? NodeState::DefaultDirectory()
                                                : std::filesystem::path(config.state_directory);
  KVCAST_TRY(const std::filesystem::path state_directory, std::move(directory));
  KVCAST_TRY(NodeState state, NodeState::Open(state_directory));
  KVCAST_TRY(ServerCredentials credentials, CredentialsOf(config, state));
  NodeServer::Options node;
  node.listen = listen;
  node.relay.limits = config.relay;
  node.session = config.session;
  node.quic = QuicOf(config);
  KVCAST_TRY_VOID(PlanStorage(config, state.node_id(), *ram_bytes, node));
  const UpstreamFlags upstreams{config.upstreams, config.upstream_authorities,
                                config.upstream_certificate, config.upstream_key,
                                config.upstream_token_file};
  KVCAST_TRY(node.upstreams, upstreams.Options());
  KVCAST_TRY_VOID(access.Apply(credentials.requires_clients(), node));
  node.relay.epoch_us = EpochMicroseconds();
  node.relay.node = state.node_id();
  FillRandom(node.relay.boot);
  const std::filesystem::path forgotten = state_directory / kForgetFile;
  KVCAST_TRY(node.relay.forgotten, ReadForgetFile(forgotten));
  node.keep_forgotten = [forgotten](const relay::ForgetMemory& to_keep) {
    return WriteForgetFile(forgotten, to_keep);
  };
  FillRandom(std::as_writable_bytes(std::span(&node.relay.secret, 1)));
  return NodeGround{std::move(state), credentials, node,
                    PayloadShare::Of(node.relay.ram_bytes, memory)};
}

}  // namespace kvcast
