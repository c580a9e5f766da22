#include "kvcast/engine/live_publication.h"

#include <utility>

#include "kvcast/engine/node_connection.h"

namespace kvcast {

LivePublication::~LivePublication() {
  if (!report_) {
    (void)Finish(Instant{});
  }
}

void LivePublication::Ready(size_t blocks) {
  if (!report_) {
    connection_->PostReady(call_, blocks);
  }
}

void LivePublication::Close() {
  if (!report_) {
    connection_->PostClose(call_);
  }
}

const std::optional<PublishReport>& LivePublication::Wait(Instant until) {
  if (!report_) {
    if (auto ended = connection_->AwaitEnd(call_, until)) {
      report_ = std::move(ended->publish_end);
    }
  }
  return report_;
}

PublishReport LivePublication::Finish(Instant deadline, const std::stop_token& stop) {
  if (!report_) {
    Close();
    NodeConnection::PublishCall call;
    call.deadline = deadline;
    call.stop = stop;
    report_ = connection_->AwaitPublish(call_, call);
  }
  return *report_;
}

}  // namespace kvcast
