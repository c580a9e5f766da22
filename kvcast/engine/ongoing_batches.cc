#include "kvcast/engine/ongoing_batches.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

// Whether another node may still do better.
bool IsOpen(ValueOutcome outcome) {
  return outcome == ValueOutcome::kPending || outcome == ValueOutcome::kNodeLost;
}

}  // namespace

OngoingBatches::OngoingBatches(EventLoop& loop, NodeLink& link, End end)
    : link_(&link), end_(std::move(end)), timer_(loop, [this] { Look(); }) {}

void OngoingBatches::Begin(Order order) {
  if (order.kind == ValueBatch::Kind::kLookup) {
    LookUp(order);
    return;
  }
  const BatchId batch = order.batch;
  Entry begun{.order = std::move(order), .operation = {}, .asked = {}, .results = {}};
  begun.results.resize(begun.order.names.size());
  FillRandom(begun.generation);
  const auto entry = entries_.emplace(batch, std::move(begun)).first;
  if (NodeSession* const session = link_->session()) {
    Start(*session, entry->second);
  } else {
    EndAs(entry, ValueOutcome::kNodeLost);
  }
}

void OngoingBatches::LookUp(const Order& order) {
  std::vector<ValueResult> results(order.names.size(), {ValueOutcome::kAbsent});
  if (NodeSession* const session = link_->session()) {
    session->Command([&](Client& client) {
      const std::vector<std::optional<uint64_t>> lengths = client.FindValues(order.names);
      for (size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i]) {
          results[i] = {ValueOutcome::kHeld, *lengths[i]};
        }
      }
    });
  }
  end_(order.batch, results);
}

// The entry may be gone when this returns: it has ended then.
void OngoingBatches::Start(NodeSession& session, Entry& entry) {
  session.Command([&](Client& client) {
    const bool gets = entry.order.kind == ValueBatch::Kind::kGet;
    const OperationId operation = gets ? Get(client, entry) : Put(client, entry);
    entry.operation = {link_->number(), operation};  // Before the client tells what came of it.
  });
}

OperationId OngoingBatches::Get(Client& client, Entry& entry) const {
  entry.asked.clear();
  std::vector<ValuePlace> places;
  for (size_t i = 0; i < entry.results.size(); ++i) {
    if (IsOpen(entry.results[i].outcome)) {
      entry.asked.push_back(i);
      places.push_back({entry.order.names[i], entry.order.places[i]});
    }
  }
  return client.GetValues(std::move(places), entry.order.deadline, Now());
}

// All of them, also what the node that was lost had stored: the next one is where it is looked for.
// The same ones stand in the same groups under the same name.
OperationId OngoingBatches::Put(Client& client, Entry& entry) const {
  entry.asked.clear();
  std::vector<ValueSource> sources;
  for (size_t i = 0; i < entry.results.size(); ++i) {
    entry.asked.push_back(i);
    sources.push_back({entry.order.names[i], entry.order.places[i]});
  }
  return client.PutValues(sources, {entry.generation, entry.order.durability, entry.order.deadline},
                          Now());
}

void OngoingBatches::Cancel(BatchId batch) {
  const auto entry = entries_.find(batch);
  if (entry == entries_.end()) {
    return;
  }
  if (!entry->second.operation) {
    EndAs(entry, ValueOutcome::kCancelled);
    return;
  }
  const auto [number, operation] = *entry->second.operation;
  NodeSession* const session = link_->session();
  if (session != nullptr && link_->number() == number) {
    session->Command([operation = operation](Client& client) { client.Cancel(operation, Now()); });
  }
}

void OngoingBatches::OnEvent(const ClientEvent& event) {
  if (std::holds_alternative<NodeReady>(event)) {
    timer_.Set(Now());  // From within the session: nothing can be begun there.
  } else if (const auto* ended = std::get_if<ValuesEnded>(&event)) {
    OnEnd(ended->operation, ended->outcomes);
  }
}

void OngoingBatches::OnEnd(OperationId operation, std::span<const ValueOutcome> outcomes) {
  const Operation wanted{link_->number(), operation};
  const auto found = std::ranges::find_if(
      entries_, [&](const auto& each) { return each.second.operation == wanted; });
  KVCAST_CHECK(found != entries_.end());
  Entry& entry = found->second;
  KVCAST_CHECK(outcomes.size() == entry.asked.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ValueOutcome& outcome = entry.results[entry.asked[i]].outcome;
    outcome = outcome == ValueOutcome::kStored ? outcome : outcomes[i];
  }
  if (std::ranges::any_of(entry.results,
                          [](const ValueResult& each) { return IsOpen(each.outcome); })) {
    Wait(entry);
    return;
  }
  EndAs(found, ValueOutcome::kNodeLost);
}

void OngoingBatches::Wait(Entry& entry) {
  const bool gets = entry.order.kind == ValueBatch::Kind::kGet;
  entry.operation.reset();
  entry.waits_until = Now() + (gets ? kGetGoesOnWithin : kPutGoesOnWithin);
  entry.end_as = ValueOutcome::kNodeLost;
  if (entry.order.deadline < entry.waits_until) {
    entry.waits_until = entry.order.deadline;
    entry.end_as = ValueOutcome::kTooLate;
  }
  SetTimer();
}

void OngoingBatches::Look() {
  std::vector<BatchId> waiting;
  for (const auto& [batch, entry] : entries_) {
    if (!entry.operation) {
      waiting.push_back(batch);
    }
  }
  for (const BatchId batch : waiting) {
    const auto entry = entries_.find(batch);
    if (NodeSession* const session = link_->session()) {
      Start(*session, entry->second);
    } else if (Now() >= entry->second.waits_until) {
      EndAs(entry, entry->second.end_as);
    }
  }
  SetTimer();
}

void OngoingBatches::EndAs(Entries::iterator entry, ValueOutcome outcome) {
  const BatchId batch = entry->first;
  std::vector<ValueResult> results = std::move(entry->second.results);
  entries_.erase(entry);
  for (ValueResult& result : results) {
    result.outcome = IsOpen(result.outcome) ? outcome : result.outcome;
  }
  end_(batch, results);
}

void OngoingBatches::SetTimer() {
  Instant first = Instant::max();
  for (const auto& [batch, entry] : entries_) {
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
