#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/client/load_report.h"

namespace kvcast {

class NodeConnection;

// A load that goes on while its caller does something else. Pages are written to at any moment
// until it is over or destroyed; blocks that are loaded stay as they are.
//
// May be called from any thread, one call at a time.
class LiveLoad {
 public:
  // Cancels what is not over: no page is written to after this.
  ~LiveLoad();
  LiveLoad(const LiveLoad&) = delete;
  LiveLoad& operator=(const LiveLoad&) = delete;

  // So many blocks are there, from the match's first on.
  size_t loaded() const;
  // The prompt's first so many blocks have pages that may be written to. Waits for nothing.
  void Room(size_t blocks);
  // Ends it as soon as can be. Waits for nothing.
  void Cancel();
  // How it ended; absent if it has not by then. Called again it says the same.
  const std::optional<LoadReport>& Wait(Instant until);

 private:
  friend class NodeConnection;
  LiveLoad(NodeConnection& connection, uint64_t call) : connection_(&connection), call_(call) {}

  NodeConnection* connection_;
  uint64_t call_;
  std::optional<LoadReport> report_;
};

}  // namespace kvcast
