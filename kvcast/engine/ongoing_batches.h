#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/client.h"
#include "kvcast/engine/node_link.h"
#include "kvcast/engine/value_batch.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// The batches of a store, which outlive its sessions: what was put or got of one whose node is lost
// stays so, and the rest goes on at the next node that is there. Values are put there under the
// same name, so that nothing is sent that the node holds. Belongs to the loop's thread.
class OngoingBatches {
 public:
  // Longer than that nobody waits for a node: who gets computes instead; who puts has all the time
  // of its deadline, but its memory is of use elsewhere.
  static constexpr Duration kGetGoesOnWithin = std::chrono::seconds(2);
  static constexpr Duration kPutGoesOnWithin = std::chrono::seconds(30);

  struct Order {
    BatchId batch = 0;
    ValueBatch::Kind kind = ValueBatch::Kind::kLookup;
    std::vector<BlockHash> names;
    std::vector<std::span<std::byte>> places;  // Of each, unless they are looked up.
    Durability durability = Durability::kMemory;
    Instant deadline;
  };
  // Called on the loop's thread, with a result for each name, and must not touch the batches. The
  // places are not touched any more.
  using End = std::function<void(BatchId, std::span<const ValueResult>)>;
  // Both outlive it.
  OngoingBatches(EventLoop& loop, NodeLink& link, End end);

  // Where there is no node it ends at once, as does a lookup where there is one.
  void Begin(Order order);
  // It ends now, if it has not.
  void Cancel(BatchId batch);
  // All that the link tells.
  void OnEvent(const ClientEvent& event);

 private:
  using Operation = std::pair<uint64_t, OperationId>;  // Of a session.
  struct Entry {
    Order order;
    Generation generation{};             // Of what is put.
    std::optional<Operation> operation;  // Absent while it waits for a node.
    std::vector<size_t> asked;           // Of the names, those that the node was asked for.
    std::vector<ValueResult> results;    // So far, of all.
    Instant waits_until{};
    ValueOutcome end_as = ValueOutcome::kNodeLost;  // If no node is there by then.
  };
  using Entries = std::map<BatchId, Entry>;

  void LookUp(const Order& order);
  // At the node that is there.
  void Start(NodeSession& session, Entry& entry);
  OperationId Get(Client& client, Entry& entry) const;
  OperationId Put(Client& client, Entry& entry) const;
  void OnEnd(OperationId operation, std::span<const ValueOutcome> outcomes);
  void Wait(Entry& entry);
  void Look();
  // What nothing came of yet ends so, and all of it is told.
  void EndAs(Entries::iterator entry, ValueOutcome outcome);
  void SetTimer();

  NodeLink* link_;
  const End end_;
  Entries entries_;
  LoopTimer timer_;
};

}  // namespace kvcast
