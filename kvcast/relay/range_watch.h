#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/moqt/id_runs.h"
#include "kvcast/object/location.h"
#include "kvcast/store/track_facts.h"

namespace kvcast::relay {

// Whether anything of what a subscription wants may still come, if that has a last group.
//
// Groups come in any order, so an object beyond the range does not mean that the range is over. It
// is over once every group of it is known to be whole, or not to exist; where that cannot be known,
// whoever asks looks at since when nothing of it has come.
//
// Bounded: of gaps that are told it remembers so many, and what it forgets is not known.
class RangeWatch {
 public:
  enum class Answer : uint8_t {
    kOver,     // Nothing of it can come any more.
    kUnknown,  // Something may.
    kMore,     // It has not looked at all groups yet: ask again.
  };
  struct Look {
    // What is known of a group; absent if nothing is.
    std::function<std::optional<GroupFacts>(uint64_t group)> group;
    // The first group, from this one on, of which anything is.
    std::function<std::optional<uint64_t>(uint64_t group)> from;
  };

  // `track` is what is known of it by now.
  RangeWatch(const LocationRange& range, const TrackFacts& track);

  bool has_end() const { return range_.last.group != LocationRange::kWholeGroup; }
  const LocationRange& range() const { return range_; }

  // An object of the track has come, wherever it stands, and says that so much does not exist.
  void OnObject(Location at, std::span<const LocationRange> gaps, Instant now);
  // So much does not exist, says an object that had come before.
  void OnGaps(std::span<const LocationRange> gaps);
  // A stream of the track has ended.
  void OnSubgroupEnd(uint64_t group, Instant now);
  // Whether anything has come since the last call that may change the answer.
  bool TakeMoved() { return std::exchange(moved_, false); }
  // REQUIRES: has_end().
  Answer Ask(const Look& look, Instant now);
  // The last time that anything of the range moved, or that the track was seen to be beyond it;
  // absent while it is not, and while nothing of it has come: later groups may come first.
  std::optional<Instant> quiet_since() const { return quiet_since_; }

 private:
  static constexpr size_t kGapsMax = 256;
  static constexpr size_t kGroupsAtOnce = 256;

  void NoteGap(const LocationRange& gap);
  void ForgetPassed();
  bool IsWhole(uint64_t group, const std::optional<GroupFacts>& facts) const;
  // Something of the range has come, be it before the watch began.
  void Begin(Instant now);
  // Whether that had, in whatever group; false if there is more to look at.
  bool LookForBeginning(const Look& look, Instant now);

  LocationRange range_;
  uint64_t next_;      // All groups of the range before it are whole, or do not exist.
  uint64_t searched_;  // None before it had anything when the watch began.
  bool over_ = false;
  bool moved_ = false;
  bool begun_ = false;   // Something of it has come,
  bool passed_ = false;  // and something beyond it.
  std::optional<Instant> quiet_since_;
  moqt::IdRuns missing_groups_{kGapsMax};             // They do not exist,
  std::map<uint64_t, moqt::IdRuns> missing_objects_;  // nor do these, by group.
  size_t object_runs_ = 0;                            // In all groups.
};

}  // namespace kvcast::relay
