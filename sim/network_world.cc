#include "sim/network_world.h"

#include <algorithm>
#include <utility>

namespace kvcast::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

}  // namespace

NetworkWorld::NetworkWorld(uint64_t seed)
    : random_(seed),
      plan_(NetworkPlan::Draw(random_)),
      bucket_(random_.Next()),
      judge_(tracks_, counts_) {
  const double chance = plan_[NetworkFault::kBucketFault];
  BucketFaults& faults = bucket_.faults();
  for (double* each : {&faults.refuse, &faults.throttle, &faults.hang, &faults.lost_reply,
                       &faults.cut, &faults.flip, &faults.garble, &faults.other}) {
    *each = random_.Happens(0.5) ? chance : 0;
  }
  BuildNodes();
  BuildUsers();
}

NetworkWorld::~NetworkWorld() = default;

void NetworkWorld::BuildNodes() {
  const size_t count = 1 + plan_.mids + plan_.edges;
  for (size_t number = 0; number < count; ++number) {
    NetworkNode::Shape shape;
    shape.number = number;
    shape.little = plan_.Has(NetworkFault::kLittleMemory) && random_.Happens(0.5);
    counts_[NetworkFault::kLittleMemory] += shape.little ? 1 : 0;
    shape.disk = random_.Happens(0.6);
    shape.bucket = random_.Happens(0.3);
    shape.offers = plan_.offers;
    if (number > plan_.mids) {
      const size_t first = 1 + random_.Below(plan_.mids);
      shape.upstreams.push_back(first);
      if (plan_.mids > 1 && random_.Happens(0.5)) {
        shape.upstreams.push_back(3 - first);
      }
    } else if (number > 0) {
      shape.upstreams.push_back(0);
    }
    for (size_t which = 0; which < shape.upstreams.size(); ++which) {
      uplinks_.push_back({.node = number, .which = which});
    }
    nodes_.push_back(std::make_unique<NetworkNode>(shape, bucket_, random_.Next()));
    nodes_.back()->Start(now_);
  }
}

void NetworkWorld::BuildUsers() {
  for (size_t number = 0; number < plan_.tracks; ++number) {
    const size_t home = random_.Happens(0.6) ? 0 : random_.Below(nodes_.size());
    const NetworkNode::Shape& shape = nodes_[home]->shape();
    Durability level = Durability::kMemory;
    if (random_.Happens(0.6)) {
      level = shape.bucket && random_.Happens(0.5) ? Durability::kBucket
              : shape.disk                         ? Durability::kDisk
                                                   : Durability::kMemory;
    }
    tracks_.push_back(NetworkTrack::Draw(random_, number, home, level));
  }
  for (NetworkTrack& track : tracks_) {
    publishers_.push_back({NetworkPublisher(track, track.home(), 0, judge_)});
    if (track.number() == 0 && plan_.Has(NetworkFault::kConflict)) {
      track.contested = true;
      Count(NetworkFault::kConflict);
      const size_t node = random_.Happens(0.7) ? track.home() : random_.Below(nodes_.size());
      publishers_.push_back({NetworkPublisher(track, node, 1, judge_)});
    }
  }
  for (size_t i = 0; i < plan_.readers; ++i) {
    // Most are where most readers are: at the edge.
    const size_t node = random_.Happens(0.7) ? 1 + plan_.mids + random_.Below(plan_.edges)
                                             : random_.Below(nodes_.size());
    readers_.push_back({NetworkReader(node, judge_)});
    if (i == 0 && plan_.Has(NetworkFault::kStalledReader)) {
      readers_.back().user.stalled = true;
      Count(NetworkFault::kStalledReader);
    }
  }
}

NetworkJudge::Server NetworkWorld::ServerOf(size_t node) const {
  const NetworkNode& server = *nodes_[node];
  return {node, server.life(), server.shape().little || !server.alive() || server.HasEvicted()};
}

void NetworkWorld::OnTime() {
  for (const std::unique_ptr<NetworkNode>& node : nodes_) {
    if (node->alive()) {
      node->OnTime(now_);
    } else if (now_ >= node->starts_at) {
      node->Start(now_);
    }
  }
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    for (NetworkWire::End* end : {&wire->client(), &wire->server()}) {
      if (end->gone) {
        continue;
      }
      const Instant clock = ClockOf(end->node);
      end->session->OnTime(clock);
      const std::optional<Instant> due = end->session->deadline();
      if (due && *due <= clock) {
        end->session->OnTimeout(clock);
        if (end->node) {
          nodes_[*end->node]->relay().OnInput(end->peer, clock);
        }
      }
    }
  }
  TellEnds();
}

std::optional<Instant> NetworkWorld::NextDeadline() const {
  std::optional<Instant> next;
  const auto consider = [&](std::optional<Instant> at) {
    if (at && (!next || *at < *next)) {
      next = at;
    }
  };
  for (const std::unique_ptr<NetworkNode>& node : nodes_) {
    consider(node->deadline(now_));
  }
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    consider(wire->deadline(now_));
    for (NetworkWire::End* end : {&wire->client(), &wire->server()}) {
      if (end->gone) {
        continue;
      }
      if (const std::optional<Instant> due = end->session->deadline()) {
        consider(std::max(now_, *due - (ClockOf(end->node) - now_)));
      }
    }
  }
  for (const Uplink& uplink : uplinks_) {
    if (uplink.wire == nullptr) {
      consider(uplink.retry_at);
    }
  }
  return next;
}

void NetworkWorld::CheckBounds() {
  for (const std::unique_ptr<NetworkNode>& node : nodes_) {
    const std::string excess = node->Excess();
    if (!excess.empty()) {
      judge_.Violate("Node " + std::to_string(node->shape().number) + ": " + excess);
    }
  }
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node]->alive()) {
      CheckUpstream(node);
    }
  }
}

std::string NetworkWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps && judge_.wrong().empty(); ++step) {
    now_ += random_.Happens(0.05) ? milliseconds(random_.Below(2000))
                                  : milliseconds(0) + microseconds(random_.Below(8000));
    OnTime();
    ConnectAll();
    Hurt();
    for (Seat<NetworkPublisher>& seat : publishers_) {
      if (seat.wire != nullptr && random_.Happens(0.5)) {
        seat.user.Act(random_);
      }
    }
    for (Seat<NetworkReader>& seat : readers_) {
      if (seat.wire != nullptr && random_.Happens(0.15)) {
        seat.user.Act(random_, tracks_);
      }
    }
    (void)StepWires(6);
    for (const std::unique_ptr<NetworkNode>& node : nodes_) {
      for (uint64_t i = random_.Below(4); node->alive() && i > 0; --i) {
        (void)node->StepTiers(now_);
      }
    }
    TakeUsers();
    CheckBounds();
    Bury();
    if (!judge_.wrong().empty()) {
      return "step " + std::to_string(step) + ": " + judge_.wrong();
    }
  }
  counts_[NetworkFault::kBucketFault] += bucket_.fault_count();
  StopFaults();
  HoldToPromises();
  FindDamage();
  PublishAgain();
  FetchEverything();
  return judge_.wrong();
}

}  // namespace kvcast::sim
