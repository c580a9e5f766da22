#pragma once

#include <cstdint>
#include <memory>

#include "kvcast/base/metrics.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/node_server.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {

// A node of our own to measure, as 'kvcast serve' would run it with memory alone: in this process,
// on a thread of its own and a free port of loopback. Everything of it is gone when it is
// destroyed.
class BenchNode {
 public:
  static Result<std::unique_ptr<BenchNode>> Start(uint64_t ram_bytes);
  ~BenchNode();
  BenchNode(const BenchNode&) = delete;
  BenchNode& operator=(const BenchNode&) = delete;

  NodeAddress address() const;
  // How long processors have worked for it.
  Duration CpuTime();

 private:
  BenchNode(ScratchDirectory state, ServerCredentials credentials)
      : state_(std::move(state)), credentials_(std::move(credentials)) {}

  ScratchDirectory state_;  // Of its certificate.
  ServerCredentials credentials_;
  Metrics metrics_;
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<NodeServer> server_;  // On that thread.
  std::string place_;
};

}  // namespace kvcast
