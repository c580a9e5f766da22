#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/store/memory_bucket.h"
#include "sim/network_judge.h"
#include "sim/network_node.h"
#include "sim/network_plan.h"
#include "sim/network_publisher.h"
#include "sim/network_reader.h"
#include "sim/network_wire.h"

namespace kvcast::sim {

// A whole network: an origin, nodes in the middle that ask it, nodes at the edge that ask those;
// publishers and readers at any of them; disks, and a bucket. All of it is the real code but for
// the wires, the disks, the bucket and the clocks, and those fail in every way that NetworkFault
// names. In it, at every step:
//
//   whatever a reader gets is what was published under its name, to the bit, and of two who publish
//   different bytes under one name a node shows one, for as long as it forgets nothing;
//   nothing that exists is denied: no object, end of a group or end of a track;
//   a node asks for an object once at a time, however many want it and whomever it may ask;
//   memory and disks stay within their bounds, and nothing is held for a fetch that is over;
//   no session is closed for anything that one of ours has done;
//
// and once the faults stop, with stalled readers still there, within kNetworkPatience:
//
//   every node is back, and what was acknowledged is had from where it was promised;
//   whatever is published anew is had, whole, from every node below.
class NetworkWorld {
 public:
  explicit NetworkWorld(uint64_t seed);
  ~NetworkWorld();

  // Plays `steps` with faults, then lets things settle. Returns what was violated, if anything.
  std::string Play(size_t steps);

  const NetworkCounts& counts() const { return counts_; }
  // Of everything that happened, in order: equal for equal seeds.
  const Digest& history() const { return judge_.history(); }

 private:
  // A node's session to one of those it asks.
  struct Uplink {
    size_t node = 0;
    size_t which = 0;  // Of the node's upstreams.
    NetworkWire* wire = nullptr;
    Instant retry_at{};
    Duration pause = kFirstPause;
  };
  template <typename User>
  struct Seat {
    User user;
    NetworkWire* wire = nullptr;
  };
  static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
  static constexpr Duration kLongestPause = std::chrono::seconds(4);
  static constexpr Duration kNetworkPatience = std::chrono::seconds(90);

  void BuildNodes();
  void BuildUsers();

  // Connections, network_world_wires.cc.
  NetworkWire* Connect(std::optional<size_t> below, size_t above, std::optional<size_t> upstream);
  void ConnectAll();
  template <typename User>
  void ConnectUser(Seat<User>& seat);
  bool StepWires(size_t most);
  void OnMoved(NetworkWire& wire);
  void GoOn(const NetworkWire& wire);
  void OnEnd(NetworkWire& wire, NetworkWire::End& end);
  void TellEnds();
  void Bury();
  void TakeUsers();
  void CheckUpstream(size_t node);
  void CheckAskedOnce(size_t node, const std::vector<FetchTap*>& taps,
                      const FetchTap::Fetch& fetch);

  // Time.
  void OnTime();
  std::optional<Instant> NextDeadline() const;
  void CheckBounds();

  // Faults, network_world_faults.cc.
  void Hurt();
  void HurtWire();
  void HurtNode();
  void HurtDisk();
  bool Strikes(NetworkFault fault);
  void Count(NetworkFault fault);
  void Kill(size_t node, bool power_cut, Duration down);
  LinkFaults DrawLink();

  // What must be once the faults have stopped, network_world_calm.cc.
  void StopFaults();
  // Until that is so, or patience is over.
  bool Settle(const std::string& what, const std::function<bool()>& done);
  template <typename User>
  void Dismiss(Seat<User>& seat);
  bool IsWhole() const;
  void HoldToPromises();
  void PublishAgain();
  void FetchEverything();
  void FindDamage();
  bool IsAtOrBelow(size_t node, size_t above) const;
  // Somebody asks a node until nothing lacks.
  void MustHave(size_t node, const std::string& what,
                const std::function<void(NetworkReader&)>& ask);

  Instant ClockOf(const std::optional<size_t>& node) const {
    return node ? nodes_[*node]->Clock(now_) : now_;
  }
  NetworkJudge::Server ServerOf(size_t node) const;

  Random random_;
  NetworkPlan plan_;
  bool calm_ = false;
  NetworkCounts counts_;
  Instant now_{std::chrono::hours(1)};
  Instant patience_until_{};
  MemoryBucket bucket_;
  Instant bucket_dead_until_{};
  std::vector<NetworkTrack> tracks_;
  NetworkJudge judge_;
  std::vector<std::unique_ptr<NetworkNode>> nodes_;
  std::vector<Uplink> uplinks_;
  std::deque<Seat<NetworkPublisher>> publishers_;
  std::deque<Seat<NetworkReader>> readers_;
  std::vector<std::unique_ptr<NetworkWire>> wires_;
};

}  // namespace kvcast::sim
