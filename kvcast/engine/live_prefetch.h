#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/client/prefetching.h"

namespace kvcast {

class NodeConnection;

// Blocks that are brought to the host before they are loaded, while their caller does something
// else. May be called from any thread, one call at a time.
class LivePrefetch {
 public:
  // Cancels what is not over.
  ~LivePrefetch();
  LivePrefetch(const LivePrefetch&) = delete;
  LivePrefetch& operator=(const LivePrefetch&) = delete;

  // Nothing more is fetched, and what has come stays. Waits for nothing.
  void Cancel();
  // How it ended; absent if it has not by then. Called again it says the same.
  const std::optional<PrefetchReport>& Wait(Instant until);

 private:
  friend class NodeConnection;
  LivePrefetch(NodeConnection& connection, uint64_t call) : connection_(&connection), call_(call) {}

  NodeConnection* connection_;
  uint64_t call_;
  std::optional<PrefetchReport> report_;
};

}  // namespace kvcast
