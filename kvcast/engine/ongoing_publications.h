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

// The publications of a connection, which outlive its sessions: one whose node is lost goes on at
// the next node that is there, under the same name and so with the same bytes, and sends what that
// one does not hold. What a node had listed it is not sent again when it is back.
//
// Who publishes need not wait as one does who loads: a publication waits for a node for as long as
// it would for one that does nothing. No page is read meanwhile. Belongs to the loop's thread.
class OngoingPublications {
 public:
  using Id = uint64_t;
  struct Order {
    std::vector<BlockHash> blocks;
    PromptPages pages;
    Client::PublishTerms terms;
  };
  // Called on the loop's thread, and must not touch the publications. Reports are of the node that
  // is published to now; their bytes are those that all were sent.
  struct Told {
    std::function<void(Id, const PublishReport&)> progress;
    std::function<void(Id, const PublishReport&)> end;  // The pages are not read any more.
  };
  // Both outlive it.
  OngoingPublications(EventLoop& loop, NodeLink& link, Duration patience, Told told);

  // False if there is no node. Invalid: pages, or a rung, that cannot be published.
  Result<bool> Begin(Id id, Order order);
  // The first so many blocks are computed. Here and below nothing happens where it has ended.
  void Ready(Id id, size_t blocks);
  // No more will be.
  void Close(Id id);
  void Cancel(Id id);
  // All that the link tells.
  void OnEvent(const ClientEvent& event);

 private:
  using Operation = std::pair<uint64_t, OperationId>;  // Of a session.
  struct Entry {
    Order order;
    bool closed = false;
    std::optional<Operation> operation;  // Absent while it waits for a node.
    PublishReport last;                  // Of the node that was lost, with
    uint64_t bytes_before = 0;           // what was sent to it and all before it.
    Instant waits_until{};
  };
  using Entries = std::map<Id, Entry>;

  Entries::iterator Find(OperationId operation);
  void Command(const Entry& entry, const std::function<void(Client&, OperationId)>& command);
  // At the node that is there.
  Result<void> Start(NodeSession& session, Entry& entry);
  void OnEnd(OperationId operation, const PublishReport& report);
  void Look();
  void End(Entries::iterator entry, PublishFault fault, const std::string& reason);
  void SetTimer();

  NodeLink* link_;
  const Duration patience_;
  const Told told_;
  Entries entries_;
  LoopTimer timer_;
};

}  // namespace kvcast
