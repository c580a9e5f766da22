#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Ranges of tracks that are to be in RAM before anybody asks, read at no more than so many bytes a
// second: what is asked for must not wait behind what may be.
class WarmQueue {
 public:
  struct Limits {
    uint64_t bytes_per_second = uint64_t{256} << 20;  // 0: nothing is read before it is asked for.
    uint64_t burst_bytes = uint64_t{16} << 20;
    size_t ranges_max = 1024;
    size_t reads_max = 8;  // At a time.
  };
  struct Range {
    TrackName track;
    LocationRange range;
    Location next;
  };

  explicit WarmQueue(const Limits& limits)
      : limits_(limits), room_bytes_(static_cast<int64_t>(limits.burst_bytes)) {}

  // False: too many wait already, or nothing may be read.
  bool Add(const TrackName& track, const LocationRange& range);
  void Drop(const TrackName& track);

  // The range to go on with, if there is one and time allows; null else. `reading`: how many reads
  // are under way.
  Range* Front(size_t reading, Instant now);
  void PopFront() { ranges_.pop_front(); }
  // So many bytes came.
  void Spend(uint64_t bytes) { room_bytes_ -= static_cast<int64_t>(bytes); }

  bool empty() const { return ranges_.empty(); }
  // When there is room again; absent if there is, or nothing waits for it.
  std::optional<Instant> deadline() const;

 private:
  void Refill(Instant now);

  Limits limits_;
  std::deque<Range> ranges_;
  int64_t room_bytes_;  // Below zero after a large object: then nothing is read for longer.
  std::optional<Instant> filled_;
};

}  // namespace kvcast
