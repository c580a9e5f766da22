#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
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

// How many from first to last do not exist, as an object that stands behind them says of those
// right before it.
constexpr uint64_t AbsentBehind(uint64_t first, uint64_t last, uint64_t object, uint64_t absent) {
  const uint64_t from = std::max(first, object - absent);
  return absent > 0 && from <= last && from < object ? std::min(last, object - 1) - from + 1 : 0;
}

// What a tier remembers of a track beside its objects, and what outlives them.
struct TrackFacts {
  Properties properties;
  std::optional<Location> largest;  // Of any object ever put or told of, evicted or not.
  std::optional<Location> end;      // No object stands here or beyond.
  // Where its publisher said that there is nothing; but for what an object says of those right
  // before it in its group, which is kept with that object: of these there may be as many as
  // objects.
  std::vector<LocationRange> gaps;

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
  // How many objects of a group before its end do not exist, as these gaps say.
  // `known(first, last)`: how many of them do all the same, or are counted by objects themselves.
  template <typename Known>
  uint64_t AbsentIn(uint64_t group, uint64_t group_end, const Known& known) const {
    std::vector<std::pair<uint64_t, uint64_t>> holes;  // From first to last.
    for (const LocationRange& gap : gaps) {
      const uint64_t first = gap.first.group == group ? gap.first.object : 0;
      const uint64_t last = gap.last.group == group ? gap.last.object : UINT64_MAX;
      const bool within = gap.first.group <= group && group <= gap.last.group;
      if (within && first < group_end && first <= last) {
        holes.emplace_back(first, std::min(last, group_end - 1));
      }
    }
    std::ranges::sort(holes);
    uint64_t absent = 0;
    uint64_t next = 0;  // What lies before has been counted.
    for (const auto& [hole_first, last] : holes) {
      const uint64_t first = std::max(hole_first, next);
      if (first <= last) {
        absent += last - first + 1 - known(first, last);
        next = last + 1;
      }
    }
    return absent;
  }
  // Whoever knows this has nothing to learn from the other.
  bool Covers(const TrackFacts& other) const {
    return (!properties.empty() || other.properties.empty()) && largest >= other.largest &&
           (end == other.end || !other.end) &&
           (gaps == other.gaps || gaps.size() >= kGapsMax ||
            std::ranges::all_of(other.gaps, [&](const auto& gap) { return HasGap(gap); }));
  }
  // What was told first stays, the rest adds up.
  void Add(const TrackFacts& more) {
    if (properties.empty()) {
      properties = more.properties;
    }
    largest = std::max(largest, more.largest);
    end = end ? end : more.end;
    for (const LocationRange& gap : more.gaps) {
      if (!HasGap(gap)) {
        gaps.push_back(gap);
      }
    }
  }
  friend bool operator==(const TrackFacts&, const TrackFacts&) = default;
};

// What it remembers of a group, for as long as it has it.
struct GroupFacts {
  std::optional<uint64_t> end;  // No object of the group stands here or beyond.
  uint64_t object_count = 0;
  uint64_t payload_bytes = 0;
  uint64_t absent_count = 0;  // Before the end, that do not exist, as objects and gaps say.

  // Every object there is of the group is here.
  bool whole() const { return end == object_count + absent_count; }
  // There are objects of the group, and none of them is here.
  bool hollow() const { return object_count == 0 && !whole(); }
};

// A group that was evicted: what a catalog has to unlist.
struct EvictedGroup {
  TrackName track;
  uint64_t group = 0;
};

}  // namespace kvcast
