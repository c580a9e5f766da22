#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kvcast/engine/node_connection.h"

namespace kvcast {

// The connections of a process: whoever asks the same nodes in the same way for the same kind of
// caches shares one, and with it what is known of the nodes, what was prefetched, and a thread. A
// connection is closed with the last who has it.
//
// May be used from any threads. A child of fork() finds none of its parent's.
class ConnectionPool {
 public:
  static ConnectionPool& OfProcess();

  // One that stands, or else a new one. The patience is that of whoever opens it.
  Result<std::shared_ptr<NodeConnection>> Open(const std::vector<NodeAddress>& addresses,
                                               const ClientOptions& options, Duration patience);
  // That somebody has.
  size_t size() const;

 private:
  std::shared_ptr<NodeConnection> Find(const std::string& key);

  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<NodeConnection>> connections_;
};

}  // namespace kvcast
