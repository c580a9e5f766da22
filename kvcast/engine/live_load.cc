#include "kvcast/engine/live_load.h"

#include "kvcast/engine/node_connection.h"

namespace kvcast {

LiveLoad::~LiveLoad() {
  if (!report_) {
    Cancel();
    (void)Wait(Instant::max());
  }
}

size_t LiveLoad::loaded() const { return report_ ? report_->loaded() : connection_->Loaded(call_); }

void LiveLoad::Room(size_t blocks) {
  if (!report_) {
    connection_->PostRoom(call_, blocks);
  }
}

void LiveLoad::Cancel() {
  if (!report_) {
    connection_->PostCancel(call_);
  }
}

const std::optional<LoadReport>& LiveLoad::Wait(Instant until) {
  if (!report_) {
    if (auto ended = connection_->AwaitEnd(call_, until)) {
      report_ = std::move(ended->load_end);
    }
  }
  return report_;
}

}  // namespace kvcast
