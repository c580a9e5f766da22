#pragma once

#include "kvcast/base/metrics.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// What is shown of a node besides what its relay counts: who it is, and its connections.
class NodeGauges {
 public:
  explicit NodeGauges(Metrics& metrics);
  void Show(const NodeServer& node, Duration uptime);
  // What adds up, of one shard of several.
  void ShowShard(const NodeServer& node);
  // What does not, of all of them, where what they have was added.
  void ShowWhole(Duration uptime, bool ready);

 private:
  Metrics* metrics_;
  Gauge& uptime_;
  Gauge& ram_bytes_max_;
  Gauge& connections_;
  Gauge& handshakes_;
  Counter& retries_;
  Counter& resets_;
};

}  // namespace kvcast
