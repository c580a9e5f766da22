#include "sim/network_plan.h"

#include <algorithm>

#include "sim/fault_chance.h"

namespace kvcast::sim {
namespace {

struct FaultKind {
  std::string_view name;
  double most;  // Its largest chance, per step or per packet.
};

// In the order of NetworkFault.
constexpr std::array<FaultKind, kNetworkFaults> kKinds = {{
    {"packets lost", 0.2},
    {"repeated", 0.1},
    {"overtaken", 1},
    {"delays", 0.03},
    {"partitions", 0.01},
    {"one-way partitions", 0.01},
    {"connections broken", 0.02},
    {"nodes killed", 0.006},
    {"power cuts", 0.006},
    {"disks lost", 0.002},
    {"upstreams dead", 0.004},
    {"misdirected writes", 0.02},
    {"bits rotten", 0.01},
    {"full disks", 0.01},
    {"slow disks", 0.02},
    {"disk errors", 0.01},
    {"bucket faults", 0.15},
    {"bucket outages", 0.005},
    {"conflicting publishers", 1},
    {"clock steps", 0.01},
    {"stalled readers", 1},
    {"small memories", 1},
    {"fetches cancelled", 0.02},
    {"goodbyes", 0.02},
}};

}  // namespace

std::string_view NameOf(NetworkFault fault) { return kKinds[static_cast<size_t>(fault)].name; }

void NetworkCounts::Add(const NetworkCounts& more) {
  for (size_t i = 0; i < kNetworkFaults; ++i) {
    faults[i] += more.faults[i];
  }
  published += more.published;
  acknowledged += more.acknowledged;
  held_to += more.held_to;
  fetches += more.fetches;
  objects += more.objects;
  unknown += more.unknown;
  upstream += more.upstream;
  converged_ms_max = std::max(converged_ms_max, more.converged_ms_max);
}

std::string NetworkCounts::ToString() const {
  std::string text =
      std::to_string(published) + " tracks published, " + std::to_string(acknowledged) +
      " groups acknowledged, " + std::to_string(held_to) + " promises held to, " +
      std::to_string(fetches) + " fetches, " + std::to_string(objects) + " objects, " +
      std::to_string(unknown) + " unknown, " + std::to_string(upstream) +
      " fetches upstream, converged within " + std::to_string(converged_ms_max) + " ms";
  for (size_t i = 0; i < kNetworkFaults; ++i) {
    text += (i == 0 ? "; " : ", ") + std::to_string(faults[i]) + " " + std::string(kKinds[i].name);
  }
  return text;
}

NetworkPlan NetworkPlan::Draw(Random& random) {
  NetworkPlan plan;
  for (size_t i = 0; i < kNetworkFaults; ++i) {
    plan.chance[i] = FaultChance(random, kKinds[i].most);
  }
  plan.mids = 1 + random.Below(2);
  plan.edges = 1 + random.Below(3);
  plan.tracks = 2 + random.Below(3);
  plan.readers = 2 + random.Below(3);
  plan.offers = random.Happens(0.7);
  return plan;
}

}  // namespace kvcast::sim
