#include "kvcast/host/admin_port.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kvcast/host/json_text.h"
#include "kvcast/host/node_misses.h"
#include "kvcast/host/node_status.h"
#include "kvcast/io/clock.h"

namespace kvcast {

void CheckAdminAddress(const NodeConfig& config) {
  if (config.admin == "none") {
    return;
  }
  const Result<SocketAddress> address = SocketAddress::Resolve(config.admin);
  if (!address.ok()) {
    throw CLI::ValidationError(config.Naming("admin", "listen"), address.error().message());
  }
  if (!address->is_loopback()) {
    throw CLI::ValidationError(
        config.Naming("admin", "listen"),
        config.admin +
            " can be reached from other machines, and these pages ask nobody who they are. Listen "
            "on 127.0.0.1, and let others in by something that asks, as a proxy or an SSH tunnel");
  }
}

AdminPort::AdminPort(EventLoop& loop, NodeServer& node, NodeHealth& health, Metrics& metrics,
                     const std::string& secret, LogSink* log)
    : node_(&node),
      health_(&health),
      metrics_(&metrics),
      gauges_(metrics),
      since_(Now()),
      forget_(node, secret, Log(log, "admin")),
      pages_(loop,
             {{"/healthz", [] { return HttpAnswer{.body = "ok\n"}; }},
              {"/readyz", [this] { return ReadyPage(); }},
              {"/misses.json",
               [this] {
                 return HttpAnswer{200, "application/json", JsonText(NodeMisses(*node_, Now()))};
               }},
              {"/metrics", [this] { return MetricsPage(); }},
              {"/status.json", [this] { return StatusPage(); }}},
             {{"/forget", [this](const HttpRequest& request) { return forget_.Take(request); }}}) {}

Result<std::unique_ptr<AdminPort>> AdminPort::Open(EventLoop& loop, const NodeConfig& config,
                                                   NodeServer& node, NodeHealth& health,
                                                   Metrics& metrics, const std::string& secret,
                                                   LogSink* log) {
  if (config.admin == "none") {
    return std::unique_ptr<AdminPort>();
  }
  CheckAdminAddress(config);
  std::unique_ptr<AdminPort> port(new AdminPort(loop, node, health, metrics, secret, log));
  AdminPages& pages = port->pages_;
  const auto handler = [&pages](const HttpRequest& request, HttpServer::Reply reply) {
    pages.Answer(request, std::move(reply));
  };
  HttpServer::Options options;
  KVCAST_TRY(options.listen, SocketAddress::Resolve(config.admin));
  auto server = HttpServer::Start(options, handler);
  if (!server.ok() && !config.origins.contains("admin.listen")) {
    options.listen = SocketAddress::Loopback(0);  // Another node has the usual one.
    server = HttpServer::Start(options, handler);
  }
  KVCAST_TRY(port->server_, std::move(server));
  return port;
}

HttpAnswer AdminPort::MetricsPage() {
  gauges_.Show(*node_, Now() - since_);
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_->Render()};
}

HttpAnswer AdminPort::ReadyPage() {
  const std::optional<std::string> trouble = health_->Trouble(Now());
  return trouble ? HttpAnswer{503, "text/plain; charset=utf-8", *trouble + "\n"}
                 : HttpAnswer{.body = "ready\n"};
}

HttpAnswer AdminPort::StatusPage() {
  const bool ready = !health_->Trouble(Now()).has_value();
  return {200, "application/json", JsonText(NodeStatus(*node_, Now() - since_, ready))};
}

}  // namespace kvcast
