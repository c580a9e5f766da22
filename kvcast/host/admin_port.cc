#include "kvcast/host/admin_port.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "kvcast/host/json_text.h"
#include "kvcast/host/node_misses.h"
#include "kvcast/host/node_status.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// Of all shards together; each keeps as many.
constexpr size_t kMissesShown = 128;

}  // namespace

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
                     const std::string& secret, LogSink* log, OtherShards* others)
    : node_(&node),
      health_(&health),
      metrics_(&metrics),
      others_(others),
      gauges_(metrics),
      since_(Now()),
      forget_(node, secret, Log(log, "admin"), others),
      pages_(loop,
             {{"/healthz", [] { return HttpAnswer{.body = "ok\n"}; }},
              {"/readyz", [this] { return ReadyPage(); }},
              {"/misses.json", [this] { return MissesPage(); }},
              {"/metrics", [this] { return MetricsPage(); }},
              {"/status.json", [this] { return StatusPage(); }}},
             {{"/forget", [this](const HttpRequest& request) { return forget_.Take(request); }}}) {}

Result<std::unique_ptr<AdminPort>> AdminPort::Open(EventLoop& loop, const NodeConfig& config,
                                                   NodeServer& node, NodeHealth& health,
                                                   Metrics& metrics, const std::string& secret,
                                                   LogSink* log, OtherShards* others) {
  if (config.admin == "none") {
    return std::unique_ptr<AdminPort>();
  }
  CheckAdminAddress(config);
  std::unique_ptr<AdminPort> port(new AdminPort(loop, node, health, metrics, secret, log, others));
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
  constexpr const char* kPlainMetrics = "text/plain; version=0.0.4; charset=utf-8";
  gauges_.Show(*node_, Now() - since_);
  if (others_ == nullptr) {
    return {200, kPlainMetrics, metrics_->Render()};
  }
  using Copy = std::shared_ptr<Metrics>;
  const auto shards = others_->Ask<Copy>([](OtherShards::Shard& shard) {
    NodeGauges(shard.metrics).ShowShard(*shard.node);
    auto copy = std::make_shared<Metrics>();
    copy->Add(shard.metrics);
    return copy;
  });
  Metrics sum;
  sum.Add(*metrics_);
  for (const std::optional<Copy>& shard : shards) {
    if (shard) {
      sum.Add(**shard);
    }
  }
  NodeGauges(sum).ShowWhole(Now() - since_, !Trouble());
  return {200, kPlainMetrics, sum.Render()};
}

std::optional<std::string> AdminPort::Trouble() {
  std::optional<std::string> trouble = health_->Trouble(Now());
  if (trouble || others_ == nullptr) {
    return trouble;
  }
  const auto shards = others_->Ask<std::optional<std::string>>(
      [](OtherShards::Shard& shard) { return shard.health->Trouble(Now()); });
  for (size_t i = 0; i < shards.size() && !trouble; ++i) {
    if (!shards[i] || *shards[i]) {
      trouble = "Shard " + std::to_string(i + 2) + ": " +
                (shards[i] ? **shards[i] : "It does not answer.");
    }
  }
  return trouble;
}

HttpAnswer AdminPort::ReadyPage() {
  const std::optional<std::string> trouble = Trouble();
  return trouble ? HttpAnswer{503, "text/plain; charset=utf-8", *trouble + "\n"}
                 : HttpAnswer{.body = "ready\n"};
}

HttpAnswer AdminPort::MissesPage() {
  Json misses = NodeMisses(*node_, Now());
  if (others_ != nullptr) {
    std::vector<Json> all(misses.begin(), misses.end());
    for (const auto& shard : others_->Ask<Json>(
             [](OtherShards::Shard& each) { return NodeMisses(*each.node, Now()); })) {
      if (shard) {
        all.insert(all.end(), shard->begin(), shard->end());
      }
    }
    std::ranges::stable_sort(all, {},
                             [](const Json& miss) { return miss["ago_ms"].get<int64_t>(); });
    misses = Json::array();
    for (size_t i = 0; i < std::min(all.size(), kMissesShown); ++i) {
      misses.push_back(std::move(all[i]));
    }
  }
  return {200, "application/json", JsonText(misses)};
}

HttpAnswer AdminPort::StatusPage() {
  Json status = NodeStatus(*node_, Now() - since_, !Trouble());
  if (others_ != nullptr) {
    for (const auto& shard : others_->Ask<Json>([](OtherShards::Shard& each) {
           return NodeStatus(*each.node, Duration::zero(), true);
         })) {
      if (shard) {
        AddShardStatus(status, *shard);
      }
    }
  }
  return {200, "application/json", JsonText(status)};
}

}  // namespace kvcast
