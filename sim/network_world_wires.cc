// Who is connected to whom, and what moves.
#include <algorithm>
#include <utility>

#include "sim/network_world.h"

namespace kvcast::sim {
namespace {

moqt::Setup NetworkSetup() {
  moqt::Setup setup;
  setup.path = "/";
  setup.authority = "node.example";
  return setup;
}

moqt::Limits NetworkLimits() {
  moqt::Limits limits;
  limits.object_bytes_max = 16 << 10;
  limits.stream_queue_bytes = 8 << 10;
  limits.session_queue_bytes = 64 << 10;
  limits.send_queue_high_bytes = 8 << 10;
  limits.send_queue_low_bytes = 2 << 10;
  return limits;
}

}  // namespace

NetworkWire* NetworkWorld::Connect(std::optional<size_t> below, size_t above,
                                   std::optional<size_t> upstream) {
  const auto end = [&](std::optional<size_t> node, moqt::Role role) {
    NetworkWire::End made;
    made.node = node;
    made.session = std::make_unique<moqt::Session>(
        role, role == moqt::Role::kClient ? NetworkSetup() : moqt::Setup(), NetworkLimits(),
        ClockOf(node));
    return made;
  };
  NetworkWire::End client = end(below, moqt::Role::kClient);
  NetworkWire::End server = end(above, moqt::Role::kServer);
  wires_.push_back(std::make_unique<NetworkWire>(random_.Next(), DrawLink(), std::move(client),
                                                 std::move(server)));
  NetworkWire& wire = *wires_.back();
  if (below) {
    wire.client().peer = nodes_[*below]->relay().JoinUpstream(*wire.client().session, *upstream);
  }
  wire.server().peer = nodes_[above]->relay().Join(*wire.server().session);
  return &wire;
}

template <typename User>
void NetworkWorld::ConnectUser(Seat<User>& seat) {
  const size_t node = seat.user.node();
  if (seat.wire != nullptr || now_ < seat.user.retry_at) {
    return;
  }
  if (!nodes_[node]->IsServing(now_)) {
    seat.user.retry_at = now_ + kFirstPause;
    return;
  }
  seat.wire = Connect(std::nullopt, node, std::nullopt);
  seat.user.Attach(*seat.wire->client().session);
}

void NetworkWorld::ConnectAll() {
  for (Uplink& uplink : uplinks_) {
    NetworkNode& below = *nodes_[uplink.node];
    if (uplink.wire != nullptr || now_ < uplink.retry_at || !below.IsServing(now_)) {
      continue;
    }
    const size_t above = below.shape().upstreams[uplink.which];
    if (nodes_[above]->IsServing(now_)) {
      uplink.wire = Connect(uplink.node, above, uplink.which);
      uplink.pause = kFirstPause;
    } else {
      uplink.retry_at = now_ + uplink.pause;
      uplink.pause = std::min(uplink.pause * 2, kLongestPause);
    }
  }
  for (Seat<NetworkPublisher>& seat : publishers_) {
    if (!seat.user.done()) {
      ConnectUser(seat);
    }
  }
  for (Seat<NetworkReader>& seat : readers_) {
    ConnectUser(seat);
  }
}

bool NetworkWorld::StepWires(size_t most) {
  bool moved = false;
  const size_t first = wires_.empty() ? 0 : random_.Below(wires_.size());
  for (size_t i = 0; i < wires_.size(); ++i) {
    NetworkWire& wire = *wires_[(first + i) % wires_.size()];
    for (uint64_t steps = random_.Below(most) + (calm_ ? 1 : 0); steps > 0; --steps) {
      if (!wire.Step(now_)) {
        break;
      }
      moved = true;
      OnMoved(wire);
    }
  }
  return moved;
}

void NetworkWorld::OnMoved(NetworkWire& wire) {
  for (NetworkWire::End* end : {&wire.client(), &wire.server()}) {
    if (end->node && !end->gone) {
      nodes_[*end->node]->relay().OnInput(end->peer, ClockOf(end->node));
      if (end->closed()) {
        OnEnd(wire, *end);
      } else if (end->session->goaway()) {
        GoOn(wire);
      }
    }
  }
}

// The node below opens another session beside it, as a host has it.
void NetworkWorld::GoOn(const NetworkWire& wire) {
  for (Uplink& uplink : uplinks_) {
    if (uplink.wire == &wire) {
      uplink.wire = nullptr;
      uplink.retry_at = now_ + (random_.Happens(0.5) ? Duration::zero() : kFirstPause);
    }
  }
}

// A node lets go of a session that is over. The last that it said goes with it.
void NetworkWorld::OnEnd(NetworkWire& wire, NetworkWire::End& end) {
  nodes_[*end.node]->relay().Leave(end.peer);
  end.gone = true;
  for (Uplink& uplink : uplinks_) {
    if (uplink.wire == &wire && &end == &wire.client()) {
      uplink.wire = nullptr;
      uplink.retry_at = now_ + uplink.pause;
    }
  }
}

// Those who find out that nobody is there any more.
void NetworkWorld::TellEnds() {
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    for (NetworkWire::End* end : {&wire->client(), &wire->server()}) {
      if (end->gone || now_ < end->told_at) {
        continue;
      }
      end->told_at = Instant::max();
      if (end == &wire->client()) {
        wire->tap().OnConnectionClosed(0, "silence");
      } else {
        end->session->OnConnectionClosed(0, "silence");
      }
      if (end->node) {
        nodes_[*end->node]->relay().OnInput(end->peer, ClockOf(end->node));
        OnEnd(*wire, *end);
      }
    }
  }
}

void NetworkWorld::TakeUsers() {
  const auto leave = [&](auto& seat, Duration pause) {
    seat.user.Detach();
    seat.wire->client().gone = true;
    if (seat.wire->connected()) {
      seat.wire->Sever(now_, now_);
    }
    seat.wire = nullptr;
    seat.user.retry_at = now_ + pause;
  };
  for (Seat<NetworkPublisher>& seat : publishers_) {
    const bool promises = seat.user.version() == 0 && !tracks_[seat.user.track()].contested;
    if (seat.wire != nullptr && (!seat.user.Take(promises) || seat.user.refused())) {
      leave(seat, kFirstPause);
    }
  }
  for (Seat<NetworkReader>& seat : readers_) {
    if (seat.wire != nullptr && !seat.user.Take(ServerOf(seat.user.node()))) {
      leave(seat, kFirstPause);
    }
  }
}

// Connections that nobody has any more.
void NetworkWorld::Bury() {
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    if (wire->tap().accused() && !wire->client().gone) {
      judge_.OnClosed(*wire->tap().accused(), "code " + std::to_string(*wire->tap().accused()));
    }
    if (wire->over()) {
      counts_[NetworkFault::kLoss] += wire->counts().lost;
      counts_[NetworkFault::kRepeat] += wire->counts().repeated;
      counts_[NetworkFault::kReorder] += wire->counts().overtaken;
    }
  }
  std::erase_if(wires_, [](const auto& wire) { return wire->over(); });
}

void NetworkWorld::CheckUpstream(size_t node) {
  std::vector<FetchTap*> taps;
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    if (wire->client().node == node && !wire->client().gone && !wire->client().closed()) {
      wire->tap().Look();
      taps.push_back(&wire->tap());
    }
  }
  for (FetchTap* tap : taps) {
    const std::vector<uint64_t> begun = tap->TakeBegun();
    counts_.upstream += begun.size();
    for (const uint64_t request : begun) {
      const auto fetch = tap->fetches().find(request);
      if (fetch != tap->fetches().end()) {
        CheckAskedOnce(node, taps, fetch->second);
      }
    }
  }
}

void NetworkWorld::CheckAskedOnce(size_t node, const std::vector<FetchTap*>& taps,
                                  const FetchTap::Fetch& fetch) {
  const auto track = std::ranges::find_if(
      tracks_, [&](const NetworkTrack& each) { return each.name() == fetch.track; });
  if (track == tracks_.end()) {
    return;  // A catalog, say.
  }
  for (const FetchTap* tap : taps) {
    for (const auto& [id, other] : tap->fetches()) {
      if (&other == &fetch || other.track != fetch.track) {
        continue;
      }
      for (const auto& [group, count] : track->groups()) {
        for (Location at{group, 0}; at.object < count; ++at.object) {
          if (other.IsToCome(at) && fetch.IsToCome(at)) {
            judge_.Violate("Node " + std::to_string(node) + " asks twice at a time for track " +
                           std::to_string(track->number()) + " at " + at.ToString());
          }
        }
      }
    }
  }
}

}  // namespace kvcast::sim
