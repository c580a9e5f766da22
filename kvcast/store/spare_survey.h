#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/store/tier_set.h"

namespace kvcast {

// Tells disks which of their groups a bucket has for good as well. Those may go first, and nobody
// need keep them.
//
// What changes is looked at when it does. What disks and bucket have when they have become ready is
// looked through some at a time; until then it counts as what only the disk has, which is safe.
class SpareSurvey {
 public:
  // The tiers must outlive this.
  explicit SpareSurvey(TierSet& tiers) : tiers_(&tiers) {}

  // Something of the group has come or gone, on a disk or in a bucket.
  void Look(const TrackName& track, uint64_t group);
  // A tier has become ready: all groups are looked at once more.
  void Restart(Instant now);
  // Looks at the next of them, if there are any left.
  void GoOn(Instant now);
  // When there is more to be looked at.
  std::optional<Instant> deadline() const { return again_; }

 private:
  TierSet* tiers_;
  size_t tier_ = 0;                    // The next disk to be looked through,
  std::optional<EvictedGroup> after_;  // and how far it was.
  std::optional<Instant> again_;
};

}  // namespace kvcast
