#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/disk_tier.h"
#include "kvcast/store/memory_device.h"
#include "sim/disk_model.h"

namespace kvcast::sim {

struct DiskWorldCounts {
  uint64_t power_cuts = 0;  // States of the disk that were started from and looked through.
  uint64_t flips = 0;       // The same, each with one bit wrong.
  uint64_t restarts = 0;    // Started from, and played on.
  uint64_t acknowledged = 0;
  uint64_t failed = 0;  // Puts and others that the tier was told to make durable, and could not.
  uint64_t evicted = 0;
  uint64_t carried = 0;
  uint64_t errors = 0;  // Of the device, that a tier noticed.
  uint64_t full = 0;    // Worlds whose disk was too small.
  uint64_t misdirected = 0;
  uint64_t unread = 0;      // Segments that a start had to leave unread.
  uint64_t bad_blocks = 0;  // That came about while a tier ran,
  uint64_t lost = 0;        // and names that fell to them.

  void Add(const DiskWorldCounts& more);
};

// What goes wrong besides, where that is not left to the seed.
struct DiskPlan {
  uint64_t fail_at = 0;         // This request of the whole play fails, and no other; 0: none.
  double power_cut_chance = 1;  // After each step of the device.
  size_t flips = 20;            // At the end.
};

// A disk tier on a disk that loses its power after every step that it takes, and worse. Whatever
// state the disk is then in:
//
//   a start succeeds, without anybody's help;
//   every object that was acknowledged is found, unless it was removed or reported as evicted;
//   what was removed for good is not found;
//   what is found is what was put, to the bit;
//   what a tenant has reserved is not evicted;
//   files never take more than the budget;
//   in the end, with a disk that is well again and large enough, a put is acknowledged.
//
// In some worlds blocks go bad, for good: they take with them what lies in them, and nothing else.
// One request of the device fails, another one in each world; syncs that fail lose what they
// covered and succeed when asked again. At the end single bits are flipped, one of which costs at
// most the one object that it belongs to.
class DiskWorld {
 public:
  explicit DiskWorld(uint64_t seed, std::optional<DiskPlan> plan = std::nullopt);

  // Returns what was violated, if anything.
  std::string Play(size_t steps);

  const DiskWorldCounts& counts() const { return counts_; }
  // What the device was asked for, restarts and all.
  uint64_t request_count() const { return requests_before_ + device_.request_count(); }
  const Digest& history() const { return history_; }

 private:
  void DrawFaults(uint64_t seed);
  DiskTierOptions Options(uint64_t bytes_max);
  std::unique_ptr<DiskPolicy> Policy(uint64_t bytes_max) const;
  void Ask();
  void AskPut();
  // An object of the track that is put once, read again and again, and never removed.
  void AskLasting();
  void AskRemove();
  void AskDescribe();
  std::string StepDevice();
  std::string TakeEvents();
  // What may be lost, and what may be forgotten, from now on.
  void SeeDanger();
  void HarmDisk();
  // It lies in a bad block, or in a segment that cannot be told apart for one.
  bool IsUnreadable(const DiskModel::Name& name) const;
  void Restart();
  // Whatever happened to the disk, it takes puts once it is well again.
  std::string TryPut();
  std::string TryPowerCut();
  std::string TryFlips(size_t count);
  // What a start finds on a disk, and how that breaks promises. `lost_max`: how many objects may be
  // missing.
  std::string LookThrough(MemoryDevice device, uint64_t bytes_max, size_t lost_max);
  void Note(const std::string& event);

  std::optional<DiskPlan> plan_;
  Random random_;
  MemoryDevice device_;
  uint64_t requests_before_ = 0;  // Those of devices that are no more.
  std::unique_ptr<DiskTier> tier_;
  DiskModel model_;
  Instant now_{std::chrono::hours(1)};
  std::map<TierTicket, DiskModel::Name> gets_;
  bool by_worth_ = false;  // An eviction decides what goes, and not age.
  bool has_bad_blocks_ = false;
  // Much is removed, over a track that stays: removals have to be moved along for as long.
  bool removes_much_ = false;
  // A write went to another place of this file: what it was to write, or stood there, may be lost.
  DeviceFile misdirected_ = 0;
  std::set<DiskModel::Name> endangered_;  // What was in that file when last seen.
  // What was removed, and what was known of tracks, may be otherwise than was told.
  bool forgetful_ = false;
  DiskWorldCounts counts_;
  Digest history_;
};

}  // namespace kvcast::sim
