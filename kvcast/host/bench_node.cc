#include "kvcast/host/bench_node.h"

#include <utility>

#include "kvcast/host/node_config.h"
#include "kvcast/host/payload_memory.h"
#include "kvcast/io/cpu_time.h"
#include "kvcast/io/entropy.h"

namespace kvcast {

Result<std::unique_ptr<BenchNode>> BenchNode::Start(uint64_t ram_bytes) {
  KVCAST_TRY(ScratchDirectory state, ScratchDirectory::Make());
  KVCAST_TRY(ServerCredentials credentials, ServerCredentials::Development(state.path()));
  std::unique_ptr<BenchNode> node(new BenchNode(std::move(state), std::move(credentials)));
  const NodeConfig usual;
  NodeServer::Options options;
  options.listen = SocketAddress::Loopback(0);
  options.session = usual.session;
  options.quic = usual.quic;
  options.relay.limits = usual.relay;
  options.relay.ram_bytes = ram_bytes;
  FillRandom(options.relay.node);
  FillRandom(options.relay.boot);
  FillRandom(std::as_writable_bytes(std::span(&options.relay.secret, 1)));
  KVCAST_TRY(const MemoryFacts memory, ProbeMemory());
  KVCAST_TRY(Arena arena, SetAside(PayloadShare::Of(ram_bytes, memory), [] { return true; }));
  options.payload_memory = std::move(arena.memory);
  KVCAST_TRY(node->thread_, LoopThread::Make());
  Result<void> started;
  node->thread_->Run([&] {
    auto server = NodeServer::Start(node->thread_->loop(), options, node->credentials_,
                                    node->metrics_, nullptr);
    if (server.ok()) {
      node->server_ = *std::move(server);
      node->place_ = node->server_->local().ToString();
    } else {
      started = std::move(server).error();
    }
  });
  KVCAST_TRY_VOID(std::move(started));
  return node;
}

BenchNode::~BenchNode() {
  if (thread_ != nullptr) {
    thread_->Run([&] { server_.reset(); });
  }
}

NodeAddress BenchNode::address() const {
  return {place_, PinnedCertificate{credentials_.fingerprint()}};
}

Duration BenchNode::CpuTime() {
  Duration time{};
  thread_->Run([&] { time = ThreadCpuTime(); });
  return time;
}

}  // namespace kvcast
