#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/store/bucket_tier.h"
#include "kvcast/store/disk_tier.h"
#include "kvcast/store/memory_bucket.h"
#include "kvcast/store/memory_device.h"
#include "kvcast/store/store.h"

namespace kvcast::sim {

struct StoreWorldCounts {
  uint64_t puts = 0;
  uint64_t refused = 0;
  uint64_t contradictions = 0;  // Puts of other bytes under a name that has some.
  uint64_t acknowledged = 0;
  uint64_t failed = 0;
  uint64_t hits = 0;     // In memory,
  uint64_t reads = 0;    // from below,
  uint64_t misses = 0;   // or neither.
  uint64_t demoted = 0;  // Groups.
  uint64_t packs = 0;    // Put into the bucket.
  uint64_t evicted = 0;
  uint64_t restarts = 0;
  uint64_t checked = 0;        // Promises that were held to after a restart.
  uint64_t erased = 0;         // Tracks,
  uint64_t erasures_done = 0;  // and those of them that are gone for good.
  uint64_t bad_blocks = 0;     // That came about while a node ran,
  uint64_t unread = 0;         // and promises that fell to them.
  uint64_t put_again = 0;      // Of those, what was then put and kept elsewhere.
  uint64_t hangs = 0;          // Disks that ceased to answer for a while.

  void Add(const StoreWorldCounts& more);
};

// A store of little RAM, two disks and a bucket, all of which fail, on a machine that is killed and
// loses its power:
//
//   what was acknowledged is found after every restart, unless it was reported as gone, and a
//   bucket that has no bound on its room loses nothing;
//   what lies in a block that went bad is lost with it, but whoever puts it again once it could not
//   be read, and is told that it is kept, finds it;
//   whatever is found is what was put first under its name, to the bit;
//   a track that was erased is not there, nor after a restart once that was acknowledged, until it
//   is put anew;
//   everyone who asks is answered once, in time;
//   RAM and disks stay within their bounds, and what waits within its own.
class StoreWorld {
 public:
  explicit StoreWorld(uint64_t seed);

  // Returns what was violated, if anything.
  std::string Play(size_t steps);

  const StoreWorldCounts& counts() const { return counts_; }
  const Digest& history() const { return history_; }

 private:
  using Name = std::pair<uint64_t, Location>;  // Track and location.
  struct Asked {
    Name name;
    Instant since;
    std::map<size_t, DiskPlace> places;  // Where it lay.
  };
  struct Pledged {
    Name name;
    // Where it lay when it was put, if it was known then that it cannot be read there.
    std::map<size_t, DiskPlace> unreadable;
  };

  // A track that was erased: what was put anew since, and which removals are not written yet.
  struct Erasure {
    std::set<Location> anew;
    std::set<StoreTicket> waiting;
    bool unsure = false;  // Some of it was not written, or refused.
  };

  static constexpr uint64_t kTracks = 3;
  static TrackName TrackOf(uint64_t track);

  void Start();
  void Restart();
  void Act();
  void Put(bool contradicts);
  void EndGroup();
  void Get();
  // store_world_erasure.cc
  void Erase();
  bool OnErased(const StoreWritten& written);
  void OnPutAnew(const Name& name);
  void ForgetUnsure();
  void CheckNotErased(const Name& name);
  // store_world_disks.cc
  void HarmDisks();
  std::map<size_t, DiskPlace> PlacesOf(const Name& name) const;  // By disk.
  bool IsBad(size_t disk, DiskPlace place, const Name& name) const;
  // It is on a disk, and can be read from none.
  bool IsUnreadable(const Name& name) const;
  void OnAcknowledged(const Pledged& pledged, Durability level);
  void ForgetUnreadable();
  // One step of one device, or of the bucket.
  void Step();
  bool StepDisk(size_t which);
  bool StepBucket();
  void TakeEvents();
  void OnRead(const StoreRead& read);
  void OnMoved(const EvictedGroup& moved);
  // Lets everything come to its end that is under way.
  void SettleDown(int waits_max = 8);
  // Everything that is promised is asked for.
  void CheckPromises();
  void CheckBounds();
  void Compare(const Name& name, const Object& object);
  void Fail(const std::string& what) { wrong_ = wrong_.empty() ? what : wrong_; }
  void Note(const std::string& event);
  Name RandomName();

  Random random_;
  std::vector<MemoryDevice> devices_;
  std::vector<DiskTier*> tiers_;  // The store's.
  MemoryBucket bucket_;
  BucketSide side_;
  BucketFaults faults_;           // While it is not looked through.
  BucketTier* remote_ = nullptr;  // The store's.
  std::unique_ptr<Store> store_;
  Instant now_{std::chrono::hours(1)};
  std::map<StoreTicket, Asked> asked_;
  std::map<StoreTicket, std::optional<Pledged>> pledged_;  // Absent: it was erased meanwhile.
  bool has_bad_blocks_ = false;
  std::map<Name, std::map<size_t, DiskPlace>> missed_;  // What could not be read, and where it lay.
  std::map<uint64_t, Erasure> erasures_;
  std::map<Name, Durability> promised_;
  std::string wrong_;
  StoreWorldCounts counts_;
  Digest history_;
};

}  // namespace kvcast::sim
