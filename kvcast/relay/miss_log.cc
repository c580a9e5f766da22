#include "kvcast/relay/miss_log.h"

#include <utility>

namespace kvcast::relay {

std::string_view NameOf(Miss::Reason reason) {
  switch (reason) {
    case Miss::Reason::kNoTrack:
      return "no_track";
    case Miss::Reason::kReadFailed:
      return "read_failed";
    case Miss::Reason::kTooLate:
      return "too_late";
    default:
      return "not_here";
  }
}

void MissLog::Add(Miss miss) {
  misses_.push_front(std::move(miss));
  if (misses_.size() > count_max_) {
    misses_.pop_back();
  }
}

std::string_view NameOf(UpstreamTrial::Outcome outcome) {
  switch (outcome) {
    case UpstreamTrial::Outcome::kUnknown:
      return "unknown";
    case UpstreamTrial::Outcome::kRefused:
      return "refused";
    case UpstreamTrial::Outcome::kBrokenOff:
      return "broken_off";
    case UpstreamTrial::Outcome::kTooLate:
      return "too_late";
    case UpstreamTrial::Outcome::kGone:
      return "gone";
    case UpstreamTrial::Outcome::kNotConnected:
      return "not_connected";
  }
  return "unknown";
}

}  // namespace kvcast::relay
