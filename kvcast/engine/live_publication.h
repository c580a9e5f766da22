#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "kvcast/base/time.h"
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
  // No more will be. Waits for nothing.
  void Close();
  // How it ended: the node lists those that were ready when it was closed, or will not; the pages
  // are not read after that. Absent if it has not by then. Called again it says the same.
  const std::optional<PublishReport>& Wait(Instant until);
  // Closes it and waits, and gives it up at the deadline or when told to stop.
  PublishReport Finish(Instant deadline = Instant::max(), const std::stop_token& stop = {});

 private:
  friend class NodeConnection;
  LivePublication(NodeConnection& connection, uint64_t call)
      : connection_(&connection), call_(call) {}

  NodeConnection* connection_;
  uint64_t call_;
  std::optional<PublishReport> report_;
};

}  // namespace kvcast
