#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/audience.h"
#include "sim/fetch_tap.h"
#include "sim/lossy_link.h"

namespace kvcast::sim {

// A connection of a simulated network, and the sessions at its ends. An end may outlive the
// connection: until it is told, or finds out, it takes silence for patience.
class NetworkWire {
 public:
  struct End {
    std::optional<size_t> node;  // Whose it is; absent: a user's.
    std::unique_ptr<moqt::Session> session;
    relay::PeerId peer = 0;  // At the node's relay.
    bool gone = false;       // Nobody has it any more.
    Instant told_at = Instant::max();

    bool closed() const { return session == nullptr || session->closed(); }
  };

  NetworkWire(uint64_t seed, const LinkFaults& faults, End client, End server)
      : client_(std::move(client)), server_(std::move(server)), tap_(*client_.session) {
    link_ = std::make_unique<LossyLink>(seed, faults, tap_, *server_.session);
  }

  End& client() { return client_; }
  End& server() { return server_; }
  FetchTap& tap() { return tap_; }
  const LinkCounts& counts() const { return link_ ? link_->counts() : counts_; }
  bool connected() const { return link_ != nullptr; }
  bool over() const { return client_.gone && server_.gone; }

  // Something moves on it; false: nothing does.
  bool Step(Instant now) {
    if (!link_ || now < asleep_until_) {
      return false;
    }
    link_->Block(moqt::Role::kServer, now < blocked_until_[0]);
    link_->Block(moqt::Role::kClient, now < blocked_until_[1]);
    const bool was_closed = link_->closed();
    return link_->Step() || link_->closed() != was_closed;
  }
  // It moves nothing until then.
  void Sleep(Instant until) { asleep_until_ = until; }
  // Nothing arrives at that end until then.
  void Block(moqt::Role to, Instant until) {
    blocked_until_[to == moqt::Role::kServer ? 0 : 1] = until;
  }
  // Nothing will move on it any more, of which each end hears at its time.
  void Sever(Instant client_at, Instant server_at) {
    counts_ = counts();
    link_.reset();
    client_.told_at = std::min(client_.told_at, client_at);
    server_.told_at = std::min(server_.told_at, server_at);
  }
  // From now on everything arrives.
  void Heal() {
    asleep_until_ = Instant();
    blocked_until_[0] = blocked_until_[1] = Instant();
    if (link_) {
      link_->StopFaults();
    }
  }
  // When it moves again, or an end is told that it will not.
  std::optional<Instant> deadline(Instant now) const {
    Instant next = Instant::max();
    for (const Instant at : {asleep_until_, blocked_until_[0], blocked_until_[1]}) {
      next = at > now ? std::min(next, at) : next;
    }
    for (const End* end : {&client_, &server_}) {
      next = end->gone ? next : std::min(next, end->told_at);
    }
    return next == Instant::max() ? std::nullopt : std::optional(next);
  }

 private:
  End client_;
  End server_;
  FetchTap tap_;  // Of the client.
  std::unique_ptr<LossyLink> link_;
  LinkCounts counts_;
  Instant asleep_until_{};
  Instant blocked_until_[2] = {};  // To the server, to the client.
};

}  // namespace kvcast::sim
