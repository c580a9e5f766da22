#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/metrics.h"
#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/relay/relay.h"
#include "kvcast/store/bucket_tier.h"
#include "kvcast/store/disk_tier.h"
#include "kvcast/store/memory_bucket.h"
#include "kvcast/store/memory_device.h"

namespace kvcast::sim {

// A node of a simulated network: a relay, its tiers, and the machine under them, which dies and
// starts again. It does by itself what a host does; sessions are the network's.
class NetworkNode {
 public:
  struct Shape {
    size_t number = 0;
    bool little = false;            // It has too little memory for all.
    bool disk = false;              // Which tiers it has.
    bool bucket = false;            //
    std::vector<size_t> upstreams;  // Numbers of nodes, the preferred ones first.
    bool offers = true;             // They hear of what it has.
  };

  // The bucket must outlive it.
  NetworkNode(Shape shape, MemoryBucket& bucket, uint64_t seed);

  const Shape& shape() const { return shape_; }
  bool alive() const { return relay_ != nullptr; }
  // REQUIRES: alive().
  relay::Relay& relay() { return *relay_; }
  uint64_t life() const { return life_; }  // Which it is, of all its lives.
  // What its clock shows, and when that is for the world.
  Instant Clock(Instant now) const { return now + ahead_; }
  // It takes connections: its tiers are open, or have taken too long.
  bool IsServing(Instant now) const;

  void Start(Instant now);
  // At once: all that was not written, or not synced, is gone.
  void Die(bool power_cut);
  void LoseDisk();
  // Its clock leaps ahead, as that of a machine that has slept; its time of day is another from the
  // next start on.
  void StepClock(Duration leap, int64_t wall_us);
  // Its disk answers nothing until then.
  void SlowDisk(Instant until) { disk_asleep_until_ = until; }
  // Of its disk, to be made to fail. REQUIRES: shape().disk.
  MemoryDevice& device() { return device_; }
  void Heal();

  // One request of each tier comes to its end; false if none does.
  bool StepTiers(Instant now);
  // What is due.
  void OnTime(Instant now);
  // When something will be, in the world's time.
  std::optional<Instant> deadline(Instant now) const;
  // Empty, or which bound it has passed, and whether it lists what it cannot have.
  std::string Excess();
  // It has let go of something for want of room, in this life.
  bool HasEvicted() const { return metrics_->Value("kvcast_relay_evicted_groups_total") > 0; }

  Instant starts_at{};    // When it is dead: then it starts again.
  bool damaged = false;   // Its disk has changed something by itself: what it promised is void.
  bool was_full = false;  // For a while, as it was made to be.

 private:
  size_t ram_bytes() const;
  bool StepDisk(Instant now);
  bool StepBucket(Instant now);

  Shape shape_;
  Random random_;
  MemoryDevice device_;
  BucketSide side_;
  Instant disk_asleep_until_{};
  Duration ahead_{};
  uint64_t epoch_us_ = 1'700'000'000'000'000;
  uint64_t life_ = 0;
  Instant started_at_{};
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<relay::Relay> relay_;
  DiskTier* disk_ = nullptr;      // The relay's,
  BucketTier* remote_ = nullptr;  // as this.
};

}  // namespace kvcast::sim
