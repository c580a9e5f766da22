#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/client/client_event.h"
#include "kvcast/client/publication.h"

namespace kvcast {

class NodeConnection;

// A prompt that is published while it is being computed. Blocks that are ready are read at any
// moment until it is finished or destroyed; they must not change, and those behind them may.
//
// May be called from any thread, one call at a time.
class LivePublication {
 public:
  // Gives up what is not finished: what the node has it keeps, and no page is read after this.
  ~LivePublication();
  LivePublication(const LivePublication&) = delete;
  LivePublication& operator=(const LivePublication&) = delete;

  // The prompt's first so many blocks are computed. Waits for nothing.
  void Ready(size_t blocks);
  // No more will be. Waits until the node lists those that are, or will not; the pages are not read
  // after that. Called again it says the same.
  PublishReport Finish(Instant deadline = Instant::max(), const std::stop_token& stop = {});

 private:
  friend class NodeConnection;
  using Call = std::pair<uint64_t, OperationId>;  // Of a session.
  LivePublication(NodeConnection& connection, Call call, bool finished)
      : connection_(&connection), call_(call), finished_(finished) {}

  NodeConnection* connection_;
  Call call_;
  bool finished_;
  PublishReport report_;
};

}  // namespace kvcast
