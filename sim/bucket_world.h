#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/store/bucket_tier.h"
#include "kvcast/store/memory_bucket.h"
#include "sim/disk_model.h"

namespace kvcast::sim {

struct BucketWorldCounts {
  uint64_t requests = 0;
  uint64_t faults = 0;
  uint64_t outages = 0;   // Times that the bucket was dead for a while.
  uint64_t away = 0;      // Times that a tier left it alone.
  uint64_t restarts = 0;  // Of nodes that know nothing.
  uint64_t acknowledged = 0;
  uint64_t failed = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;  // Gets that were asked for, and answered without an object.
  uint64_t evicted = 0;
  uint64_t merged = 0;   // Packs that went into larger ones.
  uint64_t damaged = 0;  // Buckets with a bit flipped, a pack cut or two packs swapped.

  void Add(const BucketWorldCounts& more);
};

// Bucket tiers of one node or two on a bucket that refuses, throttles, hangs, dies, damages, loses
// its answers and lists what was. Whatever happens:
//
//   every object that was acknowledged is found by a fresh node, unless it was removed or evicted;
//   what was removed for good is not found;
//   what is found is what was put, to the bit;
//   a get is answered by its deadline;
//   what waits to be uploaded stays within its bound;
//   a bucket that is away is asked at most once a second;
//   when the faults stop, everything that was asked for comes to its end.
class BucketWorld {
 public:
  explicit BucketWorld(uint64_t seed);

  // Returns what was violated, if anything.
  std::string Play(size_t steps);

  const BucketWorldCounts& counts() const { return counts_; }
  const Digest& history() const { return history_; }

 private:
  struct Node {
    explicit Node(MemoryBucket& bucket) : side(bucket) {}
    std::unique_ptr<BucketTier> tier;
    BucketSide side;
    PackNode id;
    std::map<TierTicket, std::pair<DiskModel::Name, Instant>> gets;  // With their deadlines.
    Instant asked_away{};  // When a bucket that is away was last asked.
  };

  BucketTierOptions Options(const PackNode& id);
  // Who is asked for a track: whom chance says, or who has it as its own.
  size_t NodeFor(uint64_t track, size_t index) const;
  void DrawFaults();
  void Start(size_t index);
  void Count(const Node& node);
  void RestartAll();
  void Ask(size_t index);
  void AskPut(size_t index);
  // Lets time pass, and a few answers come.
  std::string Turn(Node& node, size_t index, size_t answers);
  std::string SendRequests(Node& node);
  std::string TakeEvents(Node& node, size_t index);
  std::string CheckBounds(const Node& node) const;
  std::string ComeToRest();
  std::string LookThrough(MemoryBucket bucket, size_t lost_max);
  std::string TryDamage(size_t count);
  void Note(const std::string& event);

  // One model for all nodes: their tickets are told apart.
  TierTicket Common(size_t index, TierTicket ticket) const { return 2 * ticket + index; }

  Random random_;
  MemoryBucket bucket_;
  BucketFaults faults_;
  bool shared_;    // By two nodes, who then remove nothing.
  bool budgeted_;  // Old packs go.
  bool sharded_;   // One node has several tiers, each with tracks of its own.
  std::vector<std::unique_ptr<Node>> nodes_;
  DiskModel model_;
  Instant now_{std::chrono::hours(1)};
  bool evicting_ = false;   // Something was evicted, and facts with it.
  bool forgetful_ = false;  // A node did not see all packs: its removals may miss some.
  BucketWorldCounts counts_;
  Digest history_;
};

}  // namespace kvcast::sim
