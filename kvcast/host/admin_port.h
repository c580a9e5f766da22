#pragma once

#include <memory>
#include <string>

#include "kvcast/base/metrics.h"
#include "kvcast/base/result.h"
#include "kvcast/host/admin_forget.h"
#include "kvcast/host/admin_pages.h"
#include "kvcast/host/node_config.h"
#include "kvcast/host/node_gauges.h"
#include "kvcast/host/node_health.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/other_shards.h"

namespace kvcast {

// Where operators and their monitors look at a node, over HTTP: docs/reference/admin.md. Belongs to
// the loop's thread, and is gone before the loop is.
class AdminPort {
 public:
  // Null: none is wanted. Machine: the address is not to be had, and was asked for. Throws what
  // CLI11 throws for an address that other machines reach: nobody is asked who they are.
  // `secret` is what whoever runs the node may show in place of a token, and `others` are the
  // node's shards beside this one.
  static Result<std::unique_ptr<AdminPort>> Open(EventLoop& loop, const NodeConfig& config,
                                                 NodeServer& node, NodeHealth& health,
                                                 Metrics& metrics, const std::string& secret = "",
                                                 LogSink* log = nullptr,
                                                 OtherShards* others = nullptr);

  const SocketAddress& local() const { return server_->local(); }
  // Other tokens count from now on.
  void ReplaceTokens(relay::TokenTable tokens) { forget_.ReplaceTokens(std::move(tokens)); }

 private:
  AdminPort(EventLoop& loop, NodeServer& node, NodeHealth& health, Metrics& metrics,
            const std::string& secret, LogSink* log, OtherShards* others);
  HttpAnswer MissesPage();
  // Absent: all shards are ready.
  std::optional<std::string> Trouble();
  HttpAnswer MetricsPage();
  HttpAnswer ReadyPage();
  HttpAnswer StatusPage();

  NodeServer* node_;
  NodeHealth* health_;
  Metrics* metrics_;
  OtherShards* others_;
  NodeGauges gauges_;
  Instant since_;
  AdminForget forget_;
  AdminPages pages_;
  std::unique_ptr<HttpServer> server_;  // Last: it asks for pages.
};

// Refuses what AdminPort::Open() would.
void CheckAdminAddress(const NodeConfig& config);

}  // namespace kvcast
