#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "kvcast/store/segment_contents.h"

namespace kvcast {

// How much of a segment is removals, and until when they have to be moved along: as long as there
// is an older segment in which something may stand that they removed.
class RemovalBytes {
 public:
  // Those that a segment says.
  static RemovalBytes In(const SegmentContents& contents, uint32_t segment);

  // Of one that removes what stands before a place of segment `before`.
  void Add(uint32_t before, uint64_t record_bytes);
  // Of those that remove something of a segment, or of one behind it.
  uint64_t Reaching(uint32_t segment) const;

 private:
  // Beyond this the two that die first count as one.
  static constexpr size_t kStepsMax = 16;

  std::map<uint32_t, uint64_t> by_before_;
};

}  // namespace kvcast
