#include "kvcast/host/node_gauges.h"

#include <chrono>

#include "kvcast/base/hex.h"
#include "kvcast/host/version.h"

namespace kvcast {
namespace {

// A counter of somebody else's, which only ever grows.
void CatchUp(Counter& counter, uint64_t value) { counter.Add(value - counter.value()); }

}  // namespace

NodeGauges::NodeGauges(Metrics& metrics)
    : metrics_(&metrics),
      uptime_(metrics.gauge("kvcast_node_uptime_seconds", "Since the node began to serve.")),
      ram_bytes_max_(metrics.gauge("kvcast_node_memory_bytes_max",
                                   "Bytes that blocks may take in memory, index included.")),
      connections_(
          metrics.gauge("kvcast_quic_connections", "QUIC connections, new ones included.")),
      handshakes_(
          metrics.gauge("kvcast_quic_handshakes", "Those of them whose handshake is not over.")),
      retries_(metrics.counter("kvcast_quic_retries_total",
                               "Clients that had to show first where they are.")),
      resets_(metrics.counter("kvcast_quic_resets_total",
                              "Packets of connections that the node does not know.")) {}

void NodeGauges::Show(const NodeServer& node, Duration uptime) {
  metrics_
      ->gauge("kvcast_node_info", "1, with who the node is.",
              {{"version", Version()}, {"node", ToHex(node.options().relay.node)}})
      .Set(1);
  uptime_.Set(std::chrono::duration_cast<std::chrono::seconds>(uptime).count());
  ShowShard(node);
}

void NodeGauges::ShowWhole(Duration uptime, bool ready) {
  uptime_.Set(std::chrono::duration_cast<std::chrono::seconds>(uptime).count());
  metrics_->gauge("kvcast_node_ready", "").Set(ready ? 1 : 0);
}

void NodeGauges::ShowShard(const NodeServer& node) {
  ram_bytes_max_.Set(static_cast<int64_t>(node.options().relay.ram_bytes));
  connections_.Set(static_cast<int64_t>(node.quic().connections()));
  handshakes_.Set(static_cast<int64_t>(node.quic().handshakes()));
  CatchUp(retries_, node.quic().retries());
  CatchUp(resets_, node.quic().resets());
  for (const auto& upstream : node.upstreams()) {
    const Labels of{{"upstream", upstream->options().name}};
    metrics_->gauge("kvcast_upstream_connected", "1 while the session to an upstream stands.", of)
        .Set(upstream->connected() ? 1 : 0);
    CatchUp(metrics_->counter("kvcast_upstream_connections_total",
                              "How often a session to an upstream came to stand.", of),
            upstream->connections());
  }
}

}  // namespace kvcast
