// What goes wrong in a simulated network.
#include "sim/network_world.h"

namespace kvcast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After so long without a sign of life, an end takes its connection for gone.
constexpr uint64_t kSilenceMs = 10'000;

}  // namespace

void NetworkWorld::Count(NetworkFault fault) { ++counts_[fault]; }

bool NetworkWorld::Strikes(NetworkFault fault) {
  if (!random_.Happens(plan_[fault])) {
    return false;
  }
  Count(fault);
  judge_.Note(std::string(NameOf(fault)));
  return true;
}

LinkFaults NetworkWorld::DrawLink() {
  LinkFaults faults;
  faults.lose = calm_ ? 0 : plan_[NetworkFault::kLoss];
  faults.repeat = calm_ ? 0 : plan_[NetworkFault::kRepeat];
  faults.in_order = !plan_.Has(NetworkFault::kReorder);
  faults.packet_bytes_max = 300 + random_.Below(1200);
  faults.packets_max = 4 + random_.Below(28);
  faults.stream_window = 1024 + random_.Below(16 << 10);
  faults.connection_window = (8 << 10) + random_.Below(64 << 10);
  return faults;
}

void NetworkWorld::Hurt() {
  HurtWire();
  HurtNode();
  HurtDisk();
  if (now_ < bucket_dead_until_) {
    return;
  }
  bucket_.faults().dead = false;
  if (Strikes(NetworkFault::kBucketOutage)) {
    bucket_.faults().dead = true;
    bucket_dead_until_ = now_ + milliseconds(random_.Below(8000));
  }
}

void NetworkWorld::HurtWire() {
  if (wires_.empty()) {
    return;
  }
  NetworkWire& wire = *wires_[random_.Below(wires_.size())];
  if (Strikes(NetworkFault::kDelay)) {
    wire.Sleep(now_ + milliseconds(random_.Below(800)));
  }
  for (const NetworkFault fault : {NetworkFault::kPartition, NetworkFault::kOneWay}) {
    if (!wire.connected() || !Strikes(fault)) {
      continue;
    }
    const uint64_t ms = 1 + random_.Below(2 * kSilenceMs);
    const bool both = fault == NetworkFault::kPartition;
    const bool to_server = random_.Happens(0.5);
    if (both || to_server) {
      wire.Block(moqt::Role::kServer, now_ + milliseconds(ms));
    }
    if (both || !to_server) {
      wire.Block(moqt::Role::kClient, now_ + milliseconds(ms));
    }
    if (ms > kSilenceMs) {
      // What would come later comes too late for either.
      wire.Sever(now_ + milliseconds(kSilenceMs + random_.Below(3000)),
                 now_ + milliseconds(kSilenceMs + random_.Below(3000)));
    }
  }
  if (wire.connected() && Strikes(NetworkFault::kBreak)) {
    wire.Sever(now_, now_);
  }
  NetworkWire::End& server = wire.server();
  if (wire.connected() && wire.client().node && !wire.client().gone && !server.gone &&
      !server.closed() && Strikes(NetworkFault::kGoodbye)) {
    server.session->OnTime(ClockOf(server.node));
    // Some wait until the other has gone, others not for long.
    const uint64_t ms = random_.Happens(0.3) ? 0 : 1 + random_.Below(5000);
    (void)server.session->SendGoAway("", ms).ok();  // It may have said so before.
  }
  for (Seat<NetworkReader>& seat : readers_) {
    if (seat.wire != nullptr && random_.Happens(plan_[NetworkFault::kCancel]) &&
        seat.user.Cancel()) {
      Count(NetworkFault::kCancel);
    }
  }
}

void NetworkWorld::Kill(size_t node, bool power_cut, Duration down) {
  TakeUsers();  // What was acknowledged was so before this.
  nodes_[node]->Die(power_cut);
  nodes_[node]->starts_at = now_ + down;
  for (const std::unique_ptr<NetworkWire>& wire : wires_) {
    const bool client = wire->client().node == node;
    const bool server = wire->server().node == node;
    if (!client && !server) {
      continue;
    }
    (client ? wire->client() : wire->server()).gone = true;
    const Instant found_out = now_ + milliseconds(random_.Below(kSilenceMs));
    wire->Sever(found_out, found_out);
  }
  for (Uplink& uplink : uplinks_) {
    if (uplink.node == node) {
      uplink.wire = nullptr;
      uplink.retry_at = nodes_[node]->starts_at;
      uplink.pause = kFirstPause;
    }
  }
}

void NetworkWorld::HurtNode() {
  const size_t number = random_.Below(nodes_.size());
  NetworkNode& node = *nodes_[number];
  if (!node.alive()) {
    return;
  }
  if (Strikes(NetworkFault::kClockStep)) {
    const auto hours = static_cast<int64_t>(random_.Below(7200)) - 3600;
    node.StepClock(milliseconds(random_.Below(20'000)), hours * 1'000'000);
  }
  if (Strikes(NetworkFault::kKill)) {
    Kill(number, false, milliseconds(random_.Below(3000)));
  } else if (Strikes(NetworkFault::kPowerCut)) {
    Kill(number, true, milliseconds(random_.Below(3000)));
  } else if (number <= plan_.mids && Strikes(NetworkFault::kUpstreamDeath)) {
    Kill(number, random_.Happens(0.5), seconds(5) + milliseconds(random_.Below(20'000)));
  } else if (node.shape().disk && Strikes(NetworkFault::kDiskLost)) {
    Kill(number, true, milliseconds(random_.Below(3000)));
    node.LoseDisk();
    judge_.Release(number, Durability::kDisk);
  }
}

void NetworkWorld::HurtDisk() {
  const size_t number = random_.Below(nodes_.size());
  NetworkNode& node = *nodes_[number];
  if (!node.shape().disk || !node.alive()) {
    return;
  }
  DeviceFaults& faults = node.device().faults();
  const uint64_t next = node.device().request_count() + 1;
  if (Strikes(NetworkFault::kSlowDisk)) {
    node.SlowDisk(now_ + milliseconds(random_.Below(5000)));
  }
  if (Strikes(NetworkFault::kDiskError)) {
    faults.fail_at = next + random_.Below(4);
    faults.fail_count = 1 + random_.Below(4);
  }
  if (plan_.Has(NetworkFault::kFullDisk)) {
    const bool full = random_.Happens(plan_[NetworkFault::kFullDisk]);
    if (full != node.was_full && (full || random_.Happens(0.05))) {
      node.was_full = full;
      faults.capacity = full ? node.device().bytes() : UINT64_MAX;
      counts_[NetworkFault::kFullDisk] += full ? 1 : 0;
    }
  }
  // From here on, what the disk holds may be another, and what was promised with it.
  if (random_.Happens(plan_[NetworkFault::kMisdirected])) {
    faults.misdirect_at = next;
    node.damaged = true;
  }
  if (node.device().misdirected() != 0) {
    Count(NetworkFault::kMisdirected);
  }
  if (random_.Happens(plan_[NetworkFault::kBitRot])) {
    const auto files = node.device().List();
    if (files.empty()) {
      return;
    }
    auto& contents = node.device().contents(files[random_.Below(files.size())].number);
    if (!contents.empty()) {
      Count(NetworkFault::kBitRot);
      contents[random_.Below(contents.size())] ^= static_cast<std::byte>(1 << random_.Below(8));
      node.damaged = true;
    }
  }
}

}  // namespace kvcast::sim
