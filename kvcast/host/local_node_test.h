#pragma once

#include <memory>
#include <string>

#include "kvcast/base/metrics.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/host/node_server.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {

// A real node in this process, on a thread of its own and a free port of loopback.
class LocalNode {
 public:
  // It takes everybody, or those that the tokens are for.
  explicit LocalNode(size_t ram_bytes = size_t{256} << 20, const relay::TokenTable& tokens = {}) {
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = ram_bytes;
    options.relay.access = {!tokens.empty(), tokens};
    FillRandom(options.relay.node);
    FillRandom(options.relay.boot);
    thread_->Run([&] {
      server_ = *NodeServer::Start(thread_->loop(), options, credentials_, metrics_, nullptr);
      place_ = server_->local().ToString();
    });
  }
  ~LocalNode() { Stop(); }

  NodeAddress address() const { return {place_, PinnedCertificate{credentials_.fingerprint()}}; }
  // As it is typed.
  std::string flag() const { return place_ + "#" + credentials_.fingerprint().ToHex(); }
  // Without a word to anybody.
  void Stop() {
    thread_->Run([&] { server_.reset(); });
  }

 private:
  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  ServerCredentials credentials_ = *ServerCredentials::Development(scratch_.path());
  Metrics metrics_;
  std::unique_ptr<LoopThread> thread_ = *LoopThread::Make();
  std::unique_ptr<NodeServer> server_;
  std::string place_;
};

}  // namespace kvcast
