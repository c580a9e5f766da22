#include "kvcast/engine/live_publication.h"

#include "kvcast/engine/node_connection.h"
#include "kvcast/io/clock.h"

namespace kvcast {

LivePublication::~LivePublication() {
  if (!finished_) {
    (void)Finish(Instant{});
  }
}

void LivePublication::Ready(size_t blocks) {
  if (!finished_) {
    connection_->Post(call_, [operation = call_.second, blocks](Client& client) {
      client.Ready(operation, blocks, Now());
    });
  }
}

PublishReport LivePublication::Finish(Instant deadline, const std::stop_token& stop) {
  if (!finished_) {
    connection_->Post(
        call_, [operation = call_.second](Client& client) { client.Close(operation, Now()); });
    NodeConnection::PublishCall call;
    call.deadline = deadline;
    call.stop = stop;
    report_ = connection_->AwaitPublish(call_, call);
    finished_ = true;
  }
  return report_;
}

}  // namespace kvcast
