#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/object/location.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// What a tier can say of an object without looking for it elsewhere.
enum class Presence : uint8_t {
  kExists,   // Here.
  kGone,     // It does not and will not exist: its publisher said so.
  kUnknown,  // Never seen, evicted or damaged: ask somebody else.
};

// What a tier remembers of a track beside its objects, and what outlives them.
struct TrackFacts {
  Properties properties;
  std::optional<Location> largest;  // Of any object ever put or told of, evicted or not.
  std::optional<Location> end;      // No object stands here or beyond.
  std::vector<LocationRange> gaps;  // Where its publisher said that there is nothing.

  // More gaps are forgotten: that makes them unknown, which is never wrong.
  static constexpr size_t kGapsMax = 1024;

  // The gap that a location stands in, if there is one.
  const LocationRange* GapAt(Location location) const {
    const auto found = std::ranges::find_if(
        gaps, [&](const LocationRange& gap) { return gap.Contains(location); });
    return found == gaps.end() ? nullptr : &*found;
  }
  bool HasGap(const LocationRange& gap) const { return std::ranges::find(gaps, gap) != gaps.end(); }
  // Nothing stands there, as far as the track as a whole says so.
  bool IsGone(Location location) const {
    return (end && location >= *end) || GapAt(location) != nullptr;
  }
  // Whoever knows this has nothing to learn from the other.
  bool Covers(const TrackFacts& other) const {
    return (!properties.empty() || other.properties.empty()) && largest >= other.largest &&
           (end == other.end || !other.end) &&
           (gaps == other.gaps || gaps.size() >= kGapsMax ||
            std::ranges::all_of(other.gaps, [&](const auto& gap) { return HasGap(gap); }));
  }
  friend bool operator==(const TrackFacts&, const TrackFacts&) = default;
};

// What it remembers of a group, for as long as it has it.
struct GroupFacts {
  std::optional<uint64_t> end;  // No object of the group stands here or beyond.
  uint64_t object_count = 0;
  uint64_t payload_bytes = 0;

  // Every object there is of the group is here.
  bool whole() const { return end == object_count; }
};

// A group that was evicted: what a catalog has to unlist.
struct EvictedGroup {
  TrackName track;
  uint64_t group = 0;
};

}  // namespace kvcast
