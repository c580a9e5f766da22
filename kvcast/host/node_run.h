#pragma once

#include <memory>
#include <string>

#include "kvcast/base/metrics.h"
#include "kvcast/host/admin_port.h"
#include "kvcast/host/node_ground.h"
#include "kvcast/host/node_health.h"
#include "kvcast/host/other_shards.h"
#include "kvcast/host/ready_file.h"
#include "kvcast/host/serve_flags.h"
#include "kvcast/io/signal_watch.h"
#include "kvcast/io/terminal_log.h"

namespace kvcast {

// A node from its first to its last moment, as a process: it serves until SIGTERM or SIGINT, and
// reads its configuration again at SIGHUP.
class NodeRun {
 public:
  // Throws what CLI11 throws for a configuration that makes no sense.
  static Result<std::unique_ptr<NodeRun>> Prepare(const ServeFlags& flags);
  ~NodeRun();
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  // Until it is asked to stop; an error says why it could not start.
  Result<void> Run();

 private:
  NodeRun(const ServeFlags& flags, NodeConfig config, NodeGround ground);
  // False: it was asked to stop before it served.
  Result<bool> Start();
  // For each shard; and what became of it, for people.
  std::vector<ChunkMemory> SetMemoryAside(std::string& became);
  Result<std::unique_ptr<NodeServer>> StartNode(const NodeServer::Options& options,
                                                std::vector<ChunkMemory> payloads);
  // Has every shard do it, on its own thread.
  void OnAll(const std::function<void(NodeServer&)>& work);
  // Whether it holds of every shard.
  bool AllAre(bool (*is)(const NodeServer&));
  void Reload();
  Result<void> Renew(const NodeConfig& config);
  // Of what is configured otherwise now, and holds only from the next start on.
  std::string NeedsRestart(const NodeConfig& config) const;
  void Stop();

  const ServeFlags* flags_;
  NodeConfig config_;
  NodeGround ground_;
  TerminalLog sink_;
  Log log_;
  Metrics metrics_;
  ReadyFile ready_file_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<OtherShards> others_;  // Null: there is one shard.
  std::unique_ptr<NodeServer> node_;     // The first shard, which speaks for all.
  std::unique_ptr<NodeHealth> health_;
  std::unique_ptr<AdminPort> admin_;  // Last: it looks at all the others.
  int asked_to_stop_ = 0;
};

}  // namespace kvcast
