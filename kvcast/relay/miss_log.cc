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

}  // namespace kvcast::relay
