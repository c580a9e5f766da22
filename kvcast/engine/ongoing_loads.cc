#include "kvcast/engine/ongoing_loads.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/io/clock.h"

namespace kvcast {

OngoingLoads::OngoingLoads(EventLoop& loop, NodeLink& link, Told told)
    : link_(&link), told_(std::move(told)), timer_(loop, [this] { Look(); }) {}

Result<bool> OngoingLoads::Begin(Id id, const Order& order, const CacheMatch& match) {
  NodeSession* const session = link_->session();
  if (session == nullptr) {
    return false;
  }
  Load load{.order = order,
            .first_block = match.first_block(),
            .end_block = match.end_block(),
            .rungs = {match.rungs().begin(), match.rungs().end()},
            .generation = match.generation(),
            .operation = {},
            .so_far = {}};
  if (order.terms.follow) {
    load.end_block =
        std::max(match.first_block(), std::min(order.blocks.size(), order.pages.block_count()));
  }
  Result<OperationId> begun = OperationId{0};
  session->Command([&](Client& client) {
    begun = client.Load(match, order.blocks, order.pages, order.terms, Now());
    if (begun.ok()) {
      // Before the client tells what came of it.
      load.operation = {link_->number(), *begun};
      loads_.emplace(id, std::move(load));
    }
  });
  KVCAST_TRY_VOID(begun);
  return true;
}

void OngoingLoads::Cancel(Id id) {
  const auto load = loads_.find(id);
  if (load == loads_.end()) {
    return;
  }
  if (!load->second.operation) {
    EndWaiting(load, BlockOutcome::kCancelled, "It was cancelled.");
    return;
  }
  Command(load->second,
          [](Client& client, OperationId operation) { client.Cancel(operation, Now()); });
}

void OngoingLoads::Room(Id id, size_t blocks) {
  const auto load = loads_.find(id);
  if (load == loads_.end() || blocks <= load->second.order.terms.room) {
    return;
  }
  load->second.order.terms.room = blocks;  // For the next node, too.
  if (load->second.operation) {
    Command(load->second, [blocks](Client& client, OperationId operation) {
      client.Room(operation, blocks, Now());
    });
  }
}

// REQUIRES: a node was asked.
void OngoingLoads::Command(const Load& load,
                           const std::function<void(Client&, OperationId)>& command) {
  const auto [number, operation] = *load.operation;
  NodeSession* const session = link_->session();
  if (session != nullptr && link_->number() == number) {
    session->Command([&, operation = operation](Client& client) { command(client, operation); });
  }
}

void OngoingLoads::OnEvent(const ClientEvent& event) {
  if (std::holds_alternative<NodeReady>(event)) {
    timer_.Set(Now());  // From within the session: nothing can be begun there.
  } else if (const auto* loading = std::get_if<LoadProgress>(&event)) {
    const auto load = Find(loading->operation);
    if (load != loads_.end()) {
      told_.progress(load->first, load->second.loaded() + loading->blocks);
    }
  } else if (const auto* ended = std::get_if<LoadEnded>(&event)) {
    OnEnd(ended->operation, ended->report);
  }
}

OngoingLoads::Loads::iterator OngoingLoads::Find(OperationId operation) {
  const Operation wanted{link_->number(), operation};
  return std::ranges::find_if(loads_,
                              [&](const auto& each) { return each.second.operation == wanted; });
}

void OngoingLoads::OnEnd(OperationId operation, const LoadReport& report) {
  const auto found = Find(operation);
  if (found == loads_.end()) {
    return;
  }
  Load& load = found->second;
  if (load.so_far) {
    load.so_far->GoOnWith(report);
  } else {
    load.so_far = report;
  }
  if (load.so_far->fault() == BlockOutcome::kNodeLost) {
    Wait(load);
    return;
  }
  const Id id = found->first;
  LoadReport whole = *std::move(load.so_far);
  loads_.erase(found);
  told_.end(id, std::move(whole));
}

// For the next node; no longer than it is worth it.
void OngoingLoads::Wait(Load& load) {
  const Instant now = Now();
  const LoadTerms& terms = load.order.terms;
  load.operation.reset();
  load.waits_until = now + kGoOnWithin;
  load.end_as = BlockOutcome::kNodeLost;
  if (terms.deadline < load.waits_until) {
    load.waits_until = terms.deadline;
    load.end_as = BlockOutcome::kTooLate;
  }
  const auto left = static_cast<int64_t>(load.end_block - load.first_block - load.loaded());
  if (terms.compute_per_block && *terms.compute_per_block < (load.waits_until - now) / left) {
    load.waits_until = now + *terms.compute_per_block * left;
    load.end_as = BlockOutcome::kComputingFaster;
  }
  SetTimer();
}

void OngoingLoads::Look() {
  std::vector<Id> waiting;
  for (const auto& [id, load] : loads_) {
    if (!load.operation) {
      waiting.push_back(id);
    }
  }
  for (const Id id : waiting) {
    const auto load = loads_.find(id);
    if (NodeSession* const session = link_->session()) {
      GoOn(*session, load);
    } else if (Now() >= load->second.waits_until) {
      EndWaiting(load, load->second.end_as, "No other node was there in time.");
    }
  }
  SetTimer();
}

void OngoingLoads::GoOn(NodeSession& session, Loads::iterator found) {
  Load& load = found->second;
  bool begun = false;
  session.Command([&](Client& client) {
    const Order& order = load.order;
    const CacheMatch match =
        client.Find(std::span(order.blocks).first(load.end_block), load.first_block + load.loaded(),
                    load.rungs, load.generation);
    if (match.empty() && !order.terms.follow) {
      return;
    }
    const Result<OperationId> operation =
        client.Load(match, order.blocks, order.pages, order.terms, Now());
    begun = operation.ok();
    if (begun) {
      load.operation = {link_->number(), *operation};
    }
  });
  if (!begun) {
    EndWaiting(found, BlockOutcome::kNotHeld, "The node that took over does not hold it.");
  }
}

// REQUIRES: it waits for a node.
void OngoingLoads::EndWaiting(Loads::iterator load, BlockOutcome outcome,
                              const std::string& reason) {
  const Id id = load->first;
  LoadReport report = *std::move(load->second.so_far);
  loads_.erase(load);
  report.outcomes[report.loaded()] = outcome;
  report.reason += " " + reason;
  told_.end(id, std::move(report));
}

void OngoingLoads::SetTimer() {
  Instant first = Instant::max();
  for (const auto& [id, load] : loads_) {
    if (!load.operation) {
      first = std::min(first, load.waits_until);
    }
  }
  if (first == Instant::max()) {
    timer_.Stop();
  } else {
    timer_.Set(first);
  }
}

}  // namespace kvcast
