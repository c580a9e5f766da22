#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "kvcast/store/disk_index.h"
#include "kvcast/store/segment_contents.h"

namespace kvcast {

// The removals that a segment has to heed which is read later than the ones behind it: what they
// removed does not come back with it.
class SegmentRemovals {
 public:
  // What stands before a place. `group` absent: the whole track.
  void Add(const TrackName& track, std::optional<uint64_t> group, DiskPlace before);
  // Those that a segment says.
  void Add(const SegmentContents& contents, uint32_t segment);
  void Clear();

  // Puts into the index what a segment says and nobody has removed since. Returns the groups that
  // lost something by the segment's own removals. `whole`: all of it could be read; else what is
  // known to lie elsewhere is left there, since there it may be durable.
  std::vector<EvictedGroup> ApplyLate(const SegmentContents& contents, uint32_t segment, bool whole,
                                      DiskIndex& index) const;

  // What it takes from the heap.
  size_t bytes() const { return bytes_; }

 private:
  struct Of {
    DiskPlace track;  // All of it that stands before this.
    std::map<uint64_t, DiskPlace> groups;
  };

  bool RemovesTrack(const TrackName& track, DiskPlace place) const;
  bool Removes(const TrackName& track, uint64_t group, DiskPlace place) const;

  std::map<TrackName, Of> removals_;
  size_t bytes_ = 0;
};

}  // namespace kvcast
