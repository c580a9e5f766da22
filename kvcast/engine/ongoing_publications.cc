#include "kvcast/engine/ongoing_publications.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "kvcast/client/track_coding.h"
#include "kvcast/io/clock.h"

namespace kvcast {

OngoingPublications::OngoingPublications(EventLoop& loop, NodeLink& link, Duration patience,
                                         Told told)
    : link_(&link), patience_(patience), told_(std::move(told)), timer_(loop, [this] { Look(); }) {}

Result<bool> OngoingPublications::Begin(Id id, Order order) {
  NodeSession* const session = link_->session();
  if (session == nullptr) {
    return false;
  }
  order.terms.coding = std::make_shared<TrackCoding>();
  const auto entry =
      entries_.emplace(id, Entry{.order = std::move(order), .operation = {}, .last = {}}).first;
  Result<void> started = Start(*session, entry->second);
  if (!started.ok()) {
    entries_.erase(entry);
    return std::move(started).error();
  }
  return true;
}

// The entry may be gone when this returns well: it has ended then.
Result<void> OngoingPublications::Start(NodeSession& session, Entry& entry) {
  Result<OperationId> started = OperationId{0};
  session.Command([&](Client& client) {
    const Order& order = entry.order;
    started = client.Publish(order.blocks, order.pages, order.terms, Now());
    if (!started.ok()) {
      return;
    }
    entry.operation = {link_->number(), *started};  // Before the client tells what came of it.
    if (entry.closed) {
      client.Close(*started, Now());
    }
  });
  KVCAST_TRY_VOID(started);
  return {};
}

void OngoingPublications::Ready(Id id, size_t blocks) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || blocks <= entry->second.order.terms.ready) {
    return;
  }
  entry->second.order.terms.ready = blocks;  // For the next node, too.
  Command(entry->second, [blocks](Client& client, OperationId operation) {
    client.Ready(operation, blocks, Now());
  });
}

void OngoingPublications::Close(Id id) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || std::exchange(entry->second.closed, true)) {
    return;
  }
  Command(entry->second,
          [](Client& client, OperationId operation) { client.Close(operation, Now()); });
}

void OngoingPublications::Cancel(Id id) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) {
    return;
  }
  if (!entry->second.operation) {
    End(entry, PublishFault::kCancelled, "The publication was cancelled.");
    return;
  }
  Command(entry->second,
          [](Client& client, OperationId operation) { client.Cancel(operation, Now()); });
}

void OngoingPublications::Command(const Entry& entry,
                                  const std::function<void(Client&, OperationId)>& command) {
  NodeSession* const session = link_->session();
  if (!entry.operation || session == nullptr || link_->number() != entry.operation->first) {
    return;
  }
  const OperationId operation = entry.operation->second;
  session->Command([&](Client& client) { command(client, operation); });
}

void OngoingPublications::OnEvent(const ClientEvent& event) {
  if (std::holds_alternative<NodeReady>(event)) {
    timer_.Set(Now());  // From within the session: nothing can be begun there.
  } else if (const auto* publishing = std::get_if<PublishProgress>(&event)) {
    const auto entry = Find(publishing->operation);
    if (entry != entries_.end()) {
      PublishReport report = publishing->report;
      report.bytes += entry->second.bytes_before;
      told_.progress(entry->first, report);
    }
  } else if (const auto* ended = std::get_if<PublishEnded>(&event)) {
    OnEnd(ended->operation, ended->report);
  }
}

OngoingPublications::Entries::iterator OngoingPublications::Find(OperationId operation) {
  const Operation wanted{link_->number(), operation};
  return std::ranges::find_if(entries_,
                              [&](const auto& each) { return each.second.operation == wanted; });
}

void OngoingPublications::OnEnd(OperationId operation, const PublishReport& report) {
  const auto found = Find(operation);
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  entry.last = report;
  entry.last.bytes += entry.bytes_before;
  if (report.fault == PublishFault::kNodeLost) {
    entry.operation.reset();
    entry.bytes_before = entry.last.bytes;
    entry.waits_until = Now() + patience_;
    SetTimer();
    return;
  }
  const Id id = found->first;
  const PublishReport whole = std::move(entry.last);
  entries_.erase(found);
  told_.end(id, whole);
}

void OngoingPublications::Look() {
  std::vector<Id> waiting;
  for (const auto& [id, entry] : entries_) {
    if (!entry.operation) {
      waiting.push_back(id);
    }
  }
  for (const Id id : waiting) {
    const auto entry = entries_.find(id);
    if (NodeSession* const session = link_->session()) {
      if (const Result<void> started = Start(*session, entry->second); !started.ok()) {
        End(entry, PublishFault::kRefused, started.error().message());
      }
    } else if (Now() >= entry->second.waits_until) {
      End(entry, PublishFault::kNodeLost,
          entry->second.last.reason + " No other node was there in time.");
    }
  }
  SetTimer();
}

// REQUIRES: it waits for a node, or has not been started there.
void OngoingPublications::End(Entries::iterator entry, PublishFault fault,
                              const std::string& reason) {
  const Id id = entry->first;
  PublishReport report = std::move(entry->second.last);
  entries_.erase(entry);
  report.fault = fault;
  report.reason = reason;
  told_.end(id, report);
}

void OngoingPublications::SetTimer() {
  Instant first = Instant::max();
  for (const auto& [id, entry] : entries_) {
    if (!entry.operation) {
      first = std::min(first, entry.waits_until);
    }
  }
  if (first == Instant::max()) {
    timer_.Stop();
  } else {
    timer_.Set(first);
  }
}

}  // namespace kvcast
