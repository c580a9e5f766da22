#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/metrics.h"
#include "kvcast/base/result.h"
#include "kvcast/host/node_health.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/shard_parcel.h"
#include "kvcast/io/loop_thread.h"

namespace kvcast {

// All shards of a node but the first, each on a thread of its own; the first is on the loop of who
// has these, which speaks for all. Belongs to that loop's thread.
//
// A shard that stands still costs who asks it some seconds, and is left out.
class OtherShards {
 public:
  // Of `count` shards in all. REQUIRES: more than one, and at most PortShare::kCountMax.
  static Result<std::unique_ptr<OtherShards>> Make(EventLoop& first, size_t count);
  // Ends them. The first shard is to be gone, or its loop to turn no more.
  ~OtherShards();
  OtherShards(const OtherShards&) = delete;
  OtherShards& operator=(const OtherShards&) = delete;

  size_t count() const { return shards_.size() + 1; }

  // Opens all of the node, the first shard among them, and has it listen. `payloads` is the memory
  // set aside for each. `node` is the whole one's options, `state` where they keep what they know.
  Result<std::unique_ptr<NodeServer>> Start(const NodeServer::Options& node,
                                            std::vector<ChunkMemory> payloads,
                                            const ServerCredentials& credentials, Metrics& metrics,
                                            LogSink* log, const std::filesystem::path& state);
  // Canaries, of each of them.
  void Watch(const NodeHealth::Options& options, LogSink* log);
  void StopWatching();
  // The first one is about to go.
  void Detach() { first_ = nullptr; }

  // What is on a thread of its own.
  struct Shard {
    std::unique_ptr<LoopThread> thread;
    Metrics metrics;
    std::unique_ptr<NodeServer> node;
    std::unique_ptr<NodeHealth> health;
  };
  // Has each do something on its own thread, and waits for it.
  void OnEach(const std::function<void(Shard&)>& work);
  // What each says, on its own thread; absent: it does not answer. `ask` must live on its own.
  template <typename T>
  std::vector<std::optional<T>> Ask(std::function<T(Shard&)> ask) {
    std::vector<std::future<T>> answers;
    for (const std::unique_ptr<Shard>& shard : shards_) {
      auto promise = std::make_shared<std::promise<T>>();
      answers.push_back(promise->get_future());
      shard->thread->loop().Post(
          [promise, ask, at = shard.get()] { promise->set_value(ask(*at)); });
    }
    std::vector<std::optional<T>> said;
    for (std::future<T>& answer : answers) {
      said.emplace_back();
      if (answer.wait_for(kPatience) == std::future_status::ready) {
        said.back().emplace(answer.get());
      }
    }
    return said;
  }

 private:
  using Bridge = LoopBridge<ShardParcel>;
  static constexpr std::chrono::seconds kPatience{2};

  OtherShards(EventLoop& first, std::vector<std::unique_ptr<Shard>> shards);
  EventLoop& LoopOf(size_t shard);
  ShardLines LinesOf(size_t shard);
  void MakeBridges();
  Result<void> Listen(NodeServer& first, const ServerCredentials& credentials);
  // Waits while the first's loop turns; false: `go_on` does not want to any more.
  static bool Await(EventLoop& loop, std::future<Result<void>>& opening,
                    const std::function<bool()>& go_on);

  EventLoop* first_loop_;
  NodeServer* first_ = nullptr;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::vector<std::unique_ptr<Bridge>>> bridges_;  // From, then to.
  std::atomic<bool> gives_up_ = false;
};

}  // namespace kvcast
