#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/upstream_trial.h"
#include "kvcast/store/tier_trial.h"

namespace kvcast::relay {

// A fetch that got less than it asked for, and why.
struct Miss {
  enum class Reason : uint8_t {
    kNotHere,     // No tier has what is missing.
    kNoTrack,     // Nothing is known of the track.
    kReadFailed,  // A tier that has it could not read it.
    kTooLate,     // A tier did not answer in time.
  };

  Instant at;
  uint64_t peer = 0;
  TrackName track;
  LocationRange range;
  Reason reason = Reason::kNotHere;
  std::optional<Location> missing{};  // The first object, or the end of the first range, that is.
  uint64_t sent_objects = 0;
  Duration took{};
  std::vector<TierTrial> trials{};         // Of tiers that were to read what is missing.
  std::vector<UpstreamTrial> upstreams{};  // Who was asked for it, in this order.
};

// As metrics and pages have it: "not_here".
std::string_view NameOf(Miss::Reason reason);

// The last misses, for whoever asks why: a bounded number, and nothing that would have to be asked
// of anybody else.
class MissLog {
 public:
  explicit MissLog(size_t count_max) : count_max_(count_max) {}

  void Add(Miss miss);
  // The newest first.
  const std::deque<Miss>& misses() const { return misses_; }

 private:
  size_t count_max_;
  std::deque<Miss> misses_;
};

}  // namespace kvcast::relay
