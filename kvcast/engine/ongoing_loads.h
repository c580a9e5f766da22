#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/client.h"
#include "kvcast/engine/node_link.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// The loads of a connection, which outlive its sessions: one whose node is lost goes on at the next
// node that is there, with the first block that has not come. Belongs to the loop's thread.
class OngoingLoads {
 public:
  // Longer than that no load waits for a node: the engine computes.
  static constexpr Duration kGoOnWithin = std::chrono::seconds(2);

  using Id = uint64_t;
  struct Order {
    std::vector<BlockHash> blocks;
    PromptPages pages;
    LoadTerms terms;
  };
  // Called on the loop's thread, and must not touch the loads.
  struct Told {
    std::function<void(Id, size_t)> progress;  // So many blocks are loaded.
    std::function<void(Id, LoadReport)> end;   // The pages are not written to any more.
  };
  // Both outlive it.
  OngoingLoads(EventLoop& loop, NodeLink& link, Told told);

  // False if there is no node. Invalid: pages that cannot take it.
  Result<bool> Begin(Id id, const Order& order, const CacheMatch& match);
  // The prompt's first so many blocks have pages that may be written to; it never becomes less.
  void Room(Id id, size_t blocks);
  // It ends now, if it has not.
  void Cancel(Id id);
  // All that the link tells.
  void OnEvent(const ClientEvent& event);

 private:
  using Operation = std::pair<uint64_t, OperationId>;  // Of a session.
  struct Load {
    Order order;
    size_t first_block = 0;
    size_t end_block = 0;
    // What was asked of the first node is asked of the next.
    std::vector<Rung> rungs;
    std::optional<Generation> generation;
    std::optional<Operation> operation;  // Absent while it waits for a node.
    std::optional<LoadReport> so_far;    // From nodes that were lost.
    Instant waits_until{};
    BlockOutcome end_as = BlockOutcome::kNodeLost;  // If no node is there by then.

    size_t loaded() const { return so_far ? so_far->loaded() : 0; }
  };
  using Loads = std::map<Id, Load>;

  Loads::iterator Find(OperationId operation);
  void Command(const Load& load, const std::function<void(Client&, OperationId)>& command);
  void OnEnd(OperationId operation, const LoadReport& report);
  void Wait(Load& load);
  void Look();
  void GoOn(NodeSession& session, Loads::iterator load);
  void EndWaiting(Loads::iterator load, BlockOutcome outcome, const std::string& reason);
  void SetTimer();

  NodeLink* link_;
  const Told told_;
  Loads loads_;
  LoopTimer timer_;
};

}  // namespace kvcast
