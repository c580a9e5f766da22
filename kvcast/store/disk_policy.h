#pragma once

#include <cstdint>
#include <span>

#include "kvcast/object/track_name.h"

namespace kvcast {

// A segment whose room could be had, as a policy sees it.
struct SegmentView {
  uint32_t segment = 0;  // Rises with age falling.
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;  // Of records that would have to be moved or evicted.
};

// Decides what a full disk gives up.
class DiskPolicy {
 public:
  virtual ~DiskPolicy() = default;
  // Which segment goes next. REQUIRES: there is one; the oldest comes first.
  virtual uint32_t Victim(std::span<const SegmentView> segments) = 0;
  // Whether a group of that segment is worth being moved, as long as there is room for that.
  // `used`: somebody read it since it was written or moved.
  virtual bool Keep(const TrackName& track, uint64_t group, bool used) = 0;
};

// The oldest segment goes, and what was used of it gets a second chance; unless one is mostly dead,
// whose room costs less.
class OldestFirst : public DiskPolicy {
 public:
  uint32_t Victim(std::span<const SegmentView> segments) override;
  bool Keep(const TrackName& track, uint64_t group, bool used) override;
};

}  // namespace kvcast
