#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/client.h"
#include "kvcast/engine/live_publication.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/engine/node_session.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/quic_client.h"

namespace kvcast {

// What an engine uses: a connection to one node, on a thread of its own, with calls that wait.
//
//   const auto node = NodeConnection::Open(address, kind, std::chrono::seconds(10));
//   const CacheMatch match = node->Find(chain.blocks());
//   const LoadReport report = node->Load(match, chain.blocks(), pages, {.deadline = ...});
//   ... compute what report.loaded() leaves ...
//   node->Publish(chain.blocks(), pages, {});
//
// or, while it computes, with another engine that loads and follows:
//
//   const auto live = node->BeginPublish(chain.blocks(), pages, {});
//   ... compute a block; (*live)->Ready(++blocks); and the next; then (*live)->Finish();
//
// May be called from any number of threads. When the connection is lost, every call that waits, and
// every later one, ends as a report that says so: the engine computes, and goes on.
class NodeConnection {
 public:
  struct LoadCall {
    Instant deadline = Instant::max();
    // What computing a block takes: blocks that are computed faster than loaded are left.
    std::optional<Duration> compute_per_block = {};
    std::stop_token stop = {};  // Ends it early.
    std::function<void(size_t)> on_progress =
        {};  // So many blocks are loaded; on the caller's thread.
    // Waits for blocks that are being published; for all that have a place.
    std::optional<FollowTerms> follow = {};
  };
  struct PublishCall {
    Instant deadline = Instant::max();
    std::stop_token stop = {};
    std::function<void(const PublishReport&)> on_progress = {};
    Durability durability = Durability::kMemory;
    std::optional<Rung> rung = {};  // Another one than the connection's.
  };

  // Connects, and waits until it is known what the node holds; for `patience` at most. For pages of
  // BF16, unless the ladder says otherwise.
  static Result<std::unique_ptr<NodeConnection>> Open(
      const NodeAddress& address, const CacheKind& kind, Duration patience,
      const Ladder& ladder = Ladder(HalfType::kBf16));
  // REQUIRES: no call is under way.
  ~NodeConnection();
  NodeConnection(const NodeConnection&) = delete;
  NodeConnection& operator=(const NodeConnection&) = delete;

  // Which blocks of a prompt can be had, from `first_block` on, at which of these rungs, the best
  // first; at the connection's own if none are named. Asks nobody. Ladder::LoadedDownTo() says
  // which there are.
  CacheMatch Find(std::span<const BlockHash> blocks, size_t first_block = 0,
                  std::span<const Rung> rungs = {});
  // Returns when all is loaded or cannot be, and no page is touched after that. Of several rungs
  // each block comes at the best with which the deadline is kept. Invalid: pages that cannot take
  // it.
  Result<LoadReport> Load(CacheMatch match, std::span<const BlockHash> blocks, PromptPages pages,
                          const LoadCall& call);
  // Returns when the node lists every block, or will not; the pages are not read after that.
  // Invalid: pages that are not of this kind, or of another number of blocks.
  Result<PublishReport> Publish(std::span<const BlockHash> blocks, PromptPages pages,
                                const PublishCall& call);
  // The same while the blocks are being computed: each is sent when it is said to be ready, and not
  // read before. Waits for nothing; of the call, only durability and rung count. The connection
  // must outlive the result. Invalid: as above.
  Result<std::unique_ptr<LivePublication>> BeginPublish(std::span<const BlockHash> blocks,
                                                        PromptPages pages, const PublishCall& call);

  // Why the connection was lost, if it was.
  std::optional<std::string> lost() const;

 private:
  friend class LivePublication;
  // How far an operation is, as the loop's thread has told.
  struct Operation {
    size_t loaded = 0;
    PublishReport published;
    std::optional<LoadReport> load_end;
    std::optional<PublishReport> publish_end;
    uint64_t changes = 0;
  };

  NodeConnection() = default;
  static Result<std::unique_ptr<NodeConnection>> OpenAny(const NodeAddress& address,
                                                         const CacheKind& kind, Instant deadline,
                                                         const Ladder& ladder);
  Result<void> Connect(const NodeAddress& address, const SocketAddress& place,
                       const ClientOptions& options);
  // False if it is neither ready nor lost by then.
  Result<bool> AwaitReady(Instant deadline);
  using Beginning = std::function<Result<OperationId>(Client&, Instant)>;
  Result<OperationId> Begin(const Beginning& begin);
  // Waits until it has ended: by itself, or cancelled at the deadline or when told to stop.
  Operation Await(OperationId id, Instant deadline, const std::stop_token& stop,
                  const std::function<void(const Operation&)>& on_change);
  PublishReport AwaitPublish(OperationId id, const PublishCall& call);
  void OnEvent(const ClientEvent& event);
  void Command(const std::function<void(Client&)>& command);
  // The same, and waits for nothing.
  void Post(std::function<void(Client&)> command);

  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<QuicClient> quic_;  // On the loop's thread, as all below it.
  NodeSession* session_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<OperationId, Operation> operations_;
  bool ready_ = false;
  std::optional<std::string> lost_;
};

}  // namespace kvcast
