#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/store/disk_format.h"
#include "kvcast/store/removal_bytes.h"

namespace kvcast {

enum class SegmentState : uint8_t {
  kCreating,
  kWriting,  // Being written, or waiting to be.
  kSealed,   // All that it holds was made durable, and its footer says so.
  kFrail,    // Left over from a crash, or a write or sync of it failed: what it holds is read with
             // its check sums, never called durable because it is here, and moved elsewhere.
  kHeld,     // Frail, and could not be read just now: left alone unless its room is needed.
  kUnread,  // Could not be read whole when the tier started: there may be more in it than the index
            // knows. It is read again and again, and its room is nobody's until that is done, or
            // until what has to be remembered for its sake costs too much: then it is held.
  kForeign,  // Of another directory: never touched.
};

struct Segment {
  uint64_t bytes = 0;
  uint64_t marker = 0;
  SegmentState state = SegmentState::kCreating;
  uint32_t reads = 0;  // Under way at the device.
  bool draining = false;
  bool unmade = false;      // Its making failed: there is nothing in it, and perhaps not all of it.
  Instant retry_at{};       // When to try again to empty or to remove it.
  uint32_t held_count = 0;  // How often it could not be read when it was to be.
  bool unseen = false;      // There may be more in it than the index knows.
  RemovalBytes removals{};  // Of those in it that are durable.
};

// The files of a directory, and the bytes that they take.
struct SegmentTable {
  std::map<uint32_t, Segment> segments;  // The oldest first.
  uint64_t allocated = 0;                // With the superblock.
  uint64_t last_number = 0;              // Never used again, whatever became of it.

  Segment& Add(uint64_t number, const Segment& segment) {
    allocated += segment.bytes;
    last_number = number > last_number ? number : last_number;
    return segments[static_cast<uint32_t>(number)] = segment;
  }
  // The oldest of which anything may be read, now or later.
  std::optional<uint32_t> Oldest() const {
    for (const auto& [number, segment] : segments) {
      if (segment.state != SegmentState::kForeign) {
        return number;
      }
    }
    return std::nullopt;
  }
  // Of a segment, those that would have to be moved along if it went.
  uint64_t RemovalBytesOf(uint32_t number) const {
    const auto oldest = Oldest();
    return !oldest || *oldest >= number ? 0 : segments.at(number).removals.Reaching(*oldest);
  }
  void Drop(uint32_t number) {
    allocated -= segments.at(number).bytes;
    segments.erase(number);
  }
};

}  // namespace kvcast
