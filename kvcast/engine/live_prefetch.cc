#include "kvcast/engine/live_prefetch.h"

#include "kvcast/engine/node_connection.h"

namespace kvcast {

LivePrefetch::~LivePrefetch() {
  if (!report_) {
    Cancel();
    (void)Wait(Instant::max());
  }
}

void LivePrefetch::Cancel() {
  if (!report_) {
    connection_->PostCancel(call_);
  }
}

const std::optional<PrefetchReport>& LivePrefetch::Wait(Instant until) {
  if (!report_) {
    if (auto ended = connection_->AwaitEnd(call_, until)) {
      report_ = std::move(ended->prefetch_end);
    }
  }
  return report_;
}

}  // namespace kvcast
