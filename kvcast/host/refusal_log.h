#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kvcast/base/log.h"
#include "kvcast/base/time.h"

namespace kvcast {

// Says in the log who was turned away, and why, but not more often than people can read: anybody
// can knock as often as they like.
class RefusalLog {
 public:
  static constexpr uint64_t kLinesMax = 10;  // In each
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  explicit RefusalLog(Log log) : log_(std::move(log)) {}

  void Note(const std::string& from, const std::string& reason, Instant now);

 private:
  Log log_;
  Instant since_{};
  uint64_t lines_ = 0;    // Since then.
  uint64_t omitted_ = 0;  // Since the last line.
};

}  // namespace kvcast
