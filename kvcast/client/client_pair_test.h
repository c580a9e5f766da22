#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "kvcast/client/client.h"
#include "kvcast/client/scripted_node_test.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast {

// Of a test's prompt.
inline constexpr size_t kBlocks = 6;

// A client and a node that does as its script says, with time that passes when a test says so.
class ClientPair {
 public:
  explicit ClientPair(const moqt::SessionPair::Options& options = {}, const NodeScript& script = {},
                      const ClientOptions& client = {TestKind()})
      : pair_(options), node_(pair_.server()) {
    node_.script = script;
    client_.emplace(pair_.client(), client);
  }

  Client& client() { return *client_; }
  ScriptedNode& node() { return node_; }
  moqt::SessionPair& pair() { return pair_; }
  Instant now() const { return now_; }

  // Until nothing is on its way. A client that has just come takes what it is offered for all only
  // after a moment, which passes.
  void Run() {
    do {
      pair_.Run();
      node_.OnInput();
      client_->OnInput(now_);
      TakeEvents();
    } while (pair_.Step() || PassMoment());
  }
  // Some of what is on its way, with the same moment; false where nothing moves any more.
  bool Step() {
    if (!pair_.Step() && !PassMoment()) {
      return false;
    }
    node_.OnInput();
    client_->OnInput(now_);
    return true;
  }
  // Lets the time pass until nothing is due within it.
  void Pass(Duration time) {
    Run();
    const Instant end = now_ + time;
    while (client_->deadline() && *client_->deadline() <= end) {
      now_ = std::max(now_, *client_->deadline());
      client_->OnTimeout(now_);
      Run();
    }
    now_ = end;
  }

  OperationId Publish(const EngineMemory& memory, std::vector<BlockHash> blocks,
                      uint8_t generation = 9) {
    return *client_->Publish(std::move(blocks), memory.Pages(), {{std::byte{generation}}}, now_);
  }
  OperationId PublishDurably(const EngineMemory& memory, std::vector<BlockHash> blocks) {
    return *client_->Publish(std::move(blocks), memory.Pages(), {{std::byte{9}}, Durability::kDisk},
                             now_);
  }
  OperationId Load(const EngineMemory& memory, const std::vector<BlockHash>& blocks,
                   size_t first_block = 0) {
    return *client_->Load(client_->Find(blocks, first_block), blocks, memory.Pages(),
                          {now_ + std::chrono::seconds(10)}, now_);
  }

  // Waits for blocks that nobody holds yet.
  OperationId Follow(const EngineMemory& memory, const std::vector<BlockHash>& blocks,
                     const FollowTerms& follow = {std::chrono::seconds(5)},
                     std::optional<Duration> compute_per_block = {}) {
    return *client_->Load(client_->Find(blocks), blocks, memory.Pages(),
                          {now_ + std::chrono::seconds(60), compute_per_block, follow}, now_);
  }

  // Of an operation that has ended.
  template <typename Ended>
  std::optional<decltype(Ended::report)> End(OperationId operation) {
    TakeEvents();
    for (const ClientEvent& event : events_) {
      if (const auto* ended = std::get_if<Ended>(&event); ended && ended->operation == operation) {
        return ended->report;
      }
    }
    return std::nullopt;
  }
  std::optional<LoadReport> Loaded(OperationId operation) { return End<LoadEnded>(operation); }
  std::optional<PublishReport> Published(OperationId operation) {
    return End<PublishEnded>(operation);
  }
  const std::vector<ClientEvent>& events() {
    TakeEvents();
    return events_;
  }

 private:
  void TakeEvents() {
    while (std::optional<ClientEvent> event = client_->NextEvent()) {
      events_.push_back(*std::move(event));
    }
  }

  bool PassMoment() {
    const std::optional<Instant> deadline = client_->deadline();
    if (client_->ready() || !deadline || *deadline > now_ + std::chrono::milliseconds(5)) {
      return false;
    }
    now_ = std::max(now_, *deadline);
    client_->OnTimeout(now_);
    return true;
  }

  Instant now_ = Instant() + std::chrono::hours(1);
  moqt::SessionPair pair_;
  ScriptedNode node_;
  std::optional<Client> client_;
  std::vector<ClientEvent> events_;
};

}  // namespace kvcast
