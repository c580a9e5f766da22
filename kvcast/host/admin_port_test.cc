#include "kvcast/host/admin_port.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "kvcast/base/json.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/http_client_test.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

using namespace std::chrono_literals;

// A node with its pages.
class WatchedNode {
 public:
  explicit WatchedNode(const NodeConfig& config = OnFreePort()) {
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = size_t{64} << 20;
    UpstreamLink::Options away;
    away.name = "127.0.0.1:1";
    away.address = {away.name, PinnedCertificate{}};
    options.upstreams = {away};
    FillRandom(options.relay.node);
    FillRandom(options.relay.boot);
    thread_->Run([&] {
      node_ = *NodeServer::Start(thread_->loop(), options, credentials_, metrics_, nullptr);
      health_ = std::make_unique<NodeHealth>(thread_->loop(), *node_, NodeHealth::Options(),
                                             metrics_, nullptr);
      admin_ = *AdminPort::Open(thread_->loop(), config, *node_, *health_, metrics_);
    });
  }
  ~WatchedNode() {
    thread_->Run([&] {
      admin_.reset();
      health_.reset();
      node_.reset();
    });
  }

  static NodeConfig OnFreePort() {
    NodeConfig config;
    config.admin = "127.0.0.1:0";
    return config;
  }
  LoopThread& thread() { return *thread_; }
  NodeHealth& health() { return *health_; }
  const SocketAddress& address() const { return admin_->local(); }
  // The answer without its head.
  std::string Page(const std::string& path) {
    const std::string answer = HttpClient::Get(address(), path);
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }
  std::string FirstLine(const std::string& path) {
    const std::string answer = HttpClient::Get(address(), path);
    return answer.substr(0, answer.find("\r\n"));
  }

 private:
  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  ServerCredentials credentials_ = *ServerCredentials::Development(scratch_.path());
  Metrics metrics_;
  std::unique_ptr<LoopThread> thread_ = *LoopThread::Make();
  std::unique_ptr<NodeServer> node_;
  std::unique_ptr<NodeHealth> health_;
  std::unique_ptr<AdminPort> admin_;
};

TEST(AdminPort, SaysThatANodeIsWell) {
  WatchedNode node;
  EXPECT_EQ(node.Page("/healthz"), "ok\n");
  EXPECT_EQ(node.Page("/readyz"), "ready\n");
  EXPECT_EQ(node.FirstLine("/absent"), "HTTP/1.1 404 Not Found");
  EXPECT_NE(node.Page("/absent").find("/metrics\n"), std::string::npos);
}

TEST(AdminPort, IsNotReadyOnceItLeaves) {
  WatchedNode node;
  node.thread().Run([&] { node.health().Leave(); });
  EXPECT_EQ(node.FirstLine("/readyz"), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(node.Page("/healthz"), "ok\n");
}

// Whoever watches a node wants to be told when its loop stands still, and not to wait with it.
TEST(AdminPort, SaysThatANodeIsStuck) {
  WatchedNode node;
  std::atomic<bool> stuck = false;
  std::atomic<bool> go_on = false;
  node.thread().loop().Post([&] {
    stuck = true;
    while (!go_on) {
      std::this_thread::yield();
    }
  });
  while (!stuck) {
    std::this_thread::yield();
  }
  EXPECT_EQ(node.FirstLine("/healthz"), "HTTP/1.1 503 Service Unavailable");
  go_on = true;
  EXPECT_EQ(node.Page("/healthz"), "ok\n");
}

TEST(AdminPort, TellsWhatANodeIsAndHas) {
  WatchedNode node;
  const Json status = Json::parse(node.Page("/status.json"));
  std::set<std::string> fields;
  for (const auto& [key, value] : status.items()) {
    fields.insert(key);
  }
  EXPECT_EQ(fields, (std::set<std::string>{"version", "node", "boot", "listen", "uptime_s", "ready",
                                           "shards", "peer_count", "peers", "tiers", "upstreams",
                                           "catalogs", "listed_blocks"}));
  EXPECT_EQ(status["ready"], true);
  EXPECT_EQ(status["upstreams"].size(), 1U);
  EXPECT_EQ(status["upstreams"][0]["connected"], false);
  EXPECT_EQ(status["tiers"][0]["kind"], "ram");
  EXPECT_EQ(status["tiers"][0]["bytes_max"], uint64_t{64} << 20);
  const std::string page =
      *ReadFile(std::string(kSourceFolder) + "/docs/reference/admin.md", 100'000);
  for (const std::string& field : fields) {
    EXPECT_NE(page.find("`" + field + "`"), std::string::npos) << field;
  }
}

// The families of what a node exports, and the rows of the page that tells of them.
TEST(AdminPort, EveryMetricIsDocumentedWithTheQuestionThatItAnswers) {
  WatchedNode node;
  const std::string text = node.Page("/metrics");
  const std::string page =
      *ReadFile(std::string(kSourceFolder) + "/docs/reference/metrics.md", 100'000);
  size_t families = 0;
  for (size_t at = text.find("# TYPE "); at != std::string::npos; at = text.find("# TYPE ", at)) {
    at += 7;
    const std::string name = text.substr(at, text.find(' ', at) - at);
    const std::string kind =
        text.substr(at + name.size() + 1, text.find('\n', at) - at - name.size() - 1);
    EXPECT_TRUE(name.starts_with("kvcast_")) << name;
    EXPECT_NE(text.find("# HELP " + name + " "), std::string::npos) << name;
    EXPECT_NE(page.find("| `" + name + "` | " + kind + " | "), std::string::npos) << name;
    ++families;
  }
  EXPECT_GT(families, 20U);
}

TEST(AdminPort, IsForThisMachineAlone) {
  NodeConfig config;
  config.admin = "0.0.0.0:0";
  EXPECT_THROW(CheckAdminAddress(config), CLI::ValidationError);
  config.admin = "127.0.0.1:0";
  CheckAdminAddress(config);
  config.admin = "none";
  CheckAdminAddress(config);
}

// Two nodes on one machine need not be told where their pages are to be.
TEST(AdminPort, TakesAFreePortIfNobodyHasChosenOne) {
  WatchedNode first;
  NodeConfig config;
  config.admin = first.address().ToString();
  const WatchedNode second(config);
  EXPECT_NE(second.address().port(), first.address().port());
}

}  // namespace
}  // namespace kvcast
