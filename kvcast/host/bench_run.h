#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/engine/node_connection.h"
#include "kvcast/host/bench_desk.h"
#include "kvcast/host/bench_pool.h"
#include "kvcast/host/bench_room.h"
#include "kvcast/host/bench_tally.h"
#include "kvcast/host/request_trace.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// What is measured, and for how long.
struct BenchPlan {
  const BenchPool* pool = nullptr;
  const RequestTrace* trace = nullptr;
  size_t prompt_blocks_max = 1;  // Of the trace's.
  NodeAddress address = {};
  ModelScope scope;
  NamingKey key;
  std::string salt = {};
  Ladder ladder;
  std::vector<Rung> rungs = {};  // Each block is published at all of them; the best first.
  size_t publishers = 1;
  size_t readers = 1;
  Duration time{};
  std::optional<Duration> deadline{};  // Of a load.
};

// Engines at work, each with a connection and a thread of its own: readers find and load what
// they can of a prompt and compare it with what was published; publishers publish what the node
// lacks of it. Nobody computes anything.
class BenchRun {
 public:
  // Connects everybody. What the plan refers to must outlive it.
  static Result<std::unique_ptr<BenchRun>> Connect(const BenchPlan& plan);

  // Until the time is over, the trace is at its end, or `interrupted` says so. What is under way
  // when the time is over is waited for. Turns the loop meanwhile, and shows how far it is.
  // `node_cpu` may be empty.
  BenchFigures Run(EventLoop& loop, const std::function<bool()>& interrupted,
                   const std::function<Duration()>& node_cpu);
  // Why it ended early, if it did: the node is lost, or would not take what is published.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  // One engine: what belongs to its thread.
  struct Engine {
    std::unique_ptr<NodeConnection> node;
    BlockNamer namer;
    std::unique_ptr<BenchRoom> room;  // Of a reader.
  };

  explicit BenchRun(const BenchPlan& plan);
  Result<Engine> MakeEngine(bool reads) const;
  void Read(Engine& engine);
  void Load(Engine& engine, const CacheMatch& match, std::span<const BlockHash> names,
            const std::vector<uint64_t>& blocks);
  void Check(const BenchRoom& room, const LoadReport& report, const std::vector<uint64_t>& blocks);
  void Publish(Engine& engine);
  void PublishAt(Engine& engine, Rung rung, std::span<const BlockHash> names,
                 const std::vector<uint64_t>& blocks);
  std::vector<BlockHash> Names(Engine& engine, const std::vector<uint64_t>& blocks);
  void Watch(EventLoop& loop, const class ThreadTeam& team,
             const std::function<bool()>& interrupted);
  // Something has just been moved as a whole.
  void Finished();
  // What went wrong first is told; what nobody can go on with ends the run.
  void Note(const std::string& trouble);
  void Fail(Error error);

  const BenchPlan plan_;
  BenchDesk desk_;
  BenchTally tally_;
  std::vector<Engine> readers_;
  std::vector<Engine> publishers_;
  std::stop_source stop_;
  std::atomic<bool> interrupted_{false};  // By the user: what was cut off is no trouble.
  std::mutex mutex_;                      // Of what follows.
  std::optional<Instant> last_end_;
  std::string trouble_;
  std::optional<Error> failure_;
};

}  // namespace kvcast
