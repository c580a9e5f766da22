#include "kvcast/host/refusal_log.h"

namespace kvcast {

void RefusalLog::Note(const std::string& from, const std::string& reason, Instant now) {
  if (now - since_ >= kPeriod) {
    since_ = now;
    lines_ = 0;
  }
  if (lines_ >= kLinesMax) {
    ++omitted_;
    return;
  }
  ++lines_;
  log_.Warning(
      "client refused",
      {{"from", from}, {"reason", reason}, {"omitted_before", std::exchange(omitted_, 0)}});
}

}  // namespace kvcast
