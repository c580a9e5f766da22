#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/random.h"

namespace kvcast::sim {

// Everything that goes wrong in a network.
enum class NetworkFault : uint8_t {
  kLoss,           // A packet is lost, and sent again,
  kRepeat,         // arrives twice,
  kReorder,        // or comes before one that was sent earlier.
  kDelay,          // A connection moves nothing for a while,
  kPartition,      // for long, perhaps until both sides give it up,
  kOneWay,         // or on one way only.
  kBreak,          // Both sides learn that it is gone.
  kKill,           // A node dies, and starts again from what had been written;
  kPowerCut,       // from what had been synced, and torn writes;
  kDiskLost,       // or without its disk.
  kUpstreamDeath,  // One that others ask is away for long.
  kMisdirected,    // A write goes to another place of its file.
  kBitRot,         // A bit of a file is another.
  kFullDisk,       // There is no room for a while.
  kSlowDisk,       // Nothing comes from a disk for a while.
  kDiskError,      // Requests to a disk fail.
  kBucketFault,    // The same of a bucket, in all its ways,
  kBucketOutage,   // or it does not answer at all.
  kConflict,       // Somebody publishes other bytes under a name that is in use.
  kClockStep,      // A node's clock leaps, and its time of day is another after a restart.
  kStalledReader,  // Somebody asks and takes nothing.
  kLittleMemory,   // A node cannot hold what it is given.
  kCancel,         // Who has asked wants it no more.
  kGoodbye,        // One that others ask tells them to go on by another session.
};
inline constexpr size_t kNetworkFaults = static_cast<size_t>(NetworkFault::kGoodbye) + 1;
std::string_view NameOf(NetworkFault fault);

struct NetworkCounts {
  std::array<uint64_t, kNetworkFaults> faults{};
  uint64_t published = 0;     // Tracks, to their end.
  uint64_t acknowledged = 0;  // Groups that were said to be durable,
  uint64_t held_to = 0;       // and those of them that were asked for in the end.
  uint64_t fetches = 0;
  uint64_t objects = 0;   // That came, by fetches and subscriptions,
  uint64_t unknown = 0;   // and that were called unknown.
  uint64_t upstream = 0;  // Fetches of one node from another.
  uint64_t converged_ms_max = 0;

  uint64_t& operator[](NetworkFault fault) { return faults[static_cast<size_t>(fault)]; }
  void Add(const NetworkCounts& more);
  std::string ToString() const;
};

// Which faults a seed has, each with its chance per step, and how large its network is. A fault is
// absent from about half of the seeds: some bugs hide behind others.
struct NetworkPlan {
  std::array<double, kNetworkFaults> chance{};
  size_t mids = 1;
  size_t edges = 1;
  size_t tracks = 3;
  size_t readers = 2;
  bool offers = true;  // Nodes tell those upstream of what they have.

  static NetworkPlan Draw(Random& random);
  double operator[](NetworkFault fault) const { return chance[static_cast<size_t>(fault)]; }
  bool Has(NetworkFault fault) const { return (*this)[fault] > 0; }
};

}  // namespace kvcast::sim
