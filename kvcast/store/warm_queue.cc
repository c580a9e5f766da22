#include "kvcast/store/warm_queue.h"

#include <algorithm>
#include <chrono>

namespace kvcast {

bool WarmQueue::Add(const TrackName& track, const LocationRange& range) {
  if (range.empty() || ranges_.size() >= limits_.ranges_max || limits_.bytes_per_second == 0) {
    return range.empty();
  }
  ranges_.push_back({track, range, range.first});
  return true;
}

void WarmQueue::Drop(const TrackName& track) {
  std::erase_if(ranges_, [&](const Range& range) { return range.track == track; });
}

void WarmQueue::Refill(Instant now) {
  if (filled_ && now <= *filled_) {
    return;
  }
  if (filled_) {
    // A long rest fills it, whatever it was; seconds, so that nothing overflows.
    const double seconds = std::chrono::duration<double>(now - *filled_).count();
    const double most = static_cast<double>(limits_.burst_bytes);
    const double room =
        static_cast<double>(room_bytes_) + seconds * static_cast<double>(limits_.bytes_per_second);
    room_bytes_ = static_cast<int64_t>(std::min(most, room));
  }
  filled_ = now;
}

WarmQueue::Range* WarmQueue::Front(size_t reading, Instant now) {
  Refill(now);
  return ranges_.empty() || room_bytes_ <= 0 || reading >= limits_.reads_max ? nullptr
                                                                             : &ranges_.front();
}

std::optional<Instant> WarmQueue::deadline() const {
  if (ranges_.empty() || room_bytes_ > 0 || !filled_) {
    return std::nullopt;
  }
  const double seconds = static_cast<double>(1 - room_bytes_) /
                         static_cast<double>(std::max<uint64_t>(limits_.bytes_per_second, 1));
  return *filled_ + std::chrono::ceil<Duration>(std::chrono::duration<double>(seconds)) +
         std::chrono::milliseconds(1);
}

}  // namespace kvcast
