// What a simulated network owes once its faults have stopped.
#include <algorithm>
#include <utility>

#include "sim/network_world.h"

namespace kvcast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

void NetworkWorld::StopFaults() {
  calm_ = true;
  bucket_.faults() = {};
  for (const std::unique_ptr<NetworkNode>& node : nodes_) {
    node->Heal();
    node->starts_at = std::min(node->starts_at, now_);
  }
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    wire->Heal();
  }
}

bool NetworkWorld::IsWhole() const {
  return std::ranges::all_of(nodes_, [&](const auto& node) { return node->IsServing(now_); }) &&
         std::ranges::all_of(uplinks_, [](const Uplink& uplink) {
           return uplink.wire != nullptr && uplink.wire->connected() &&
                  !uplink.wire->client().closed();
         });
}

bool NetworkWorld::Settle(const std::string& what, const std::function<bool()>& done) {
  const Instant began = now_;
  while (judge_.wrong().empty()) {
    OnTime();
    ConnectAll();
    for (Seat<NetworkPublisher>& seat : publishers_) {
      if (seat.wire != nullptr) {
        seat.user.Act(random_);
      }
    }
    bool moved = StepWires(8);
    for (const std::unique_ptr<NetworkNode>& node : nodes_) {
      moved = (node->alive() && node->StepTiers(now_)) || moved;
    }
    TakeUsers();
    CheckBounds();
    Bury();
    if (done() && !moved) {
      const auto took = std::chrono::duration_cast<milliseconds>(now_ - began).count();
      counts_.converged_ms_max = std::max(counts_.converged_ms_max, static_cast<uint64_t>(took));
      return true;
    }
    if (now_ > began + kNetworkPatience) {
      judge_.Violate("The faults have stopped, and after long it is not so: " + what);
    }
    const std::optional<Instant> next = NextDeadline();
    now_ = moved ? now_ + std::chrono::microseconds(random_.Below(500))
                 : std::clamp(next.value_or(now_), now_ + milliseconds(1), now_ + seconds(1));
  }
  return false;
}

template <typename User>
void NetworkWorld::Dismiss(Seat<User>& seat) {
  if (seat.wire != nullptr) {
    seat.user.Detach();
    seat.wire->client().gone = true;
    if (seat.wire->connected()) {
      seat.wire->Sever(now_, now_);
    }
    seat.wire = nullptr;
  }
}

void NetworkWorld::MustHave(size_t node, const std::string& what,
                            const std::function<void(NetworkReader&)>& ask) {
  readers_.push_back({NetworkReader(node, judge_)});
  Seat<NetworkReader>& seat = readers_.back();
  Instant ask_at = now_;
  Settle(what, [&] {
    if (seat.wire == nullptr || !seat.user.idle()) {
      return false;
    }
    if (seat.user.lacking() == size_t{0}) {
      return true;
    }
    if (now_ >= ask_at) {
      ask_at = now_ + seconds(1);
      ask(seat.user);
    }
    return false;
  });
  if (!judge_.wrong().empty()) {
    judge_.Explain(seat.user.last_word());
  }
  Dismiss(seat);
  readers_.pop_back();
}

void NetworkWorld::HoldToPromises() {
  // Nobody brings again what should be there.
  for (Seat<NetworkPublisher>& seat : publishers_) {
    Dismiss(seat);
    seat.user.retry_at = Instant::max();
  }
  if (!Settle("every node is back and connected", [this] { return IsWhole(); })) {
    return;
  }
  const auto promises = judge_.promises();
  for (const auto& [promise, level] : promises) {
    const NetworkTrack& track = tracks_[promise.first];
    const bool kept = level == Durability::kBucket ||
                      (level == Durability::kDisk && !nodes_[track.home()]->damaged);
    if (!kept || !judge_.wrong().empty()) {
      continue;
    }
    ++counts_.held_to;
    const uint64_t group = promise.second;
    MustHave(track.home(),
             "group " + std::to_string(group) + " of track " + std::to_string(promise.first) +
                 ", which was acknowledged, is there",
             [&](NetworkReader& reader) { reader.FetchGroup(track, group); });
  }
}

// What a disk has spoilt is taken for there until somebody reads it, and not taken again before.
void NetworkWorld::FindDamage() {
  for (const NetworkTrack& track : tracks_) {
    if (!nodes_[track.home()]->damaged || !judge_.wrong().empty()) {
      continue;
    }
    readers_.push_back({NetworkReader(track.home(), judge_)});
    Seat<NetworkReader>& seat = readers_.back();
    bool asked = false;
    Settle("a fetch comes to its end", [&] {
      if (seat.wire != nullptr && !std::exchange(asked, true)) {
        seat.user.FetchAll(track);
      }
      return asked && seat.user.idle();
    });
    Dismiss(seat);
    readers_.pop_back();
  }
}

void NetworkWorld::PublishAgain() {
  std::erase_if(publishers_, [this](const Seat<NetworkPublisher>& seat) {
    return tracks_[seat.user.track()].contested;
  });
  for (Seat<NetworkPublisher>& seat : publishers_) {
    seat.user.Again();
    seat.user.retry_at = now_;
  }
  Settle("everything is published", [this] {
    return std::ranges::all_of(publishers_, [](const auto& seat) { return seat.user.done(); });
  });
  for (const Seat<NetworkPublisher>& seat : publishers_) {
    if (!judge_.wrong().empty() && !seat.user.done()) {
      judge_.Explain("track " + std::to_string(seat.user.track()) + ": " + seat.user.last_word());
    }
  }
  counts_.published += publishers_.size();
}

bool NetworkWorld::IsAtOrBelow(size_t node, size_t above) const {
  const std::vector<size_t>& upstreams = nodes_[node]->shape().upstreams;
  return node == above || std::ranges::any_of(upstreams, [&](size_t upstream) {
           return IsAtOrBelow(upstream, above);
         });
}

void NetworkWorld::FetchEverything() {
  for (const NetworkTrack& track : tracks_) {
    for (size_t node = 0; node < nodes_.size() && judge_.wrong().empty(); ++node) {
      if (track.contested || nodes_[track.home()]->shape().little ||
          !IsAtOrBelow(node, track.home())) {
        continue;
      }
      MustHave(
          node,
          "track " + std::to_string(track.number()) + " is had from node " + std::to_string(node),
          [&](NetworkReader& reader) { reader.FetchAll(track); });
    }
  }
}

}  // namespace kvcast::sim
