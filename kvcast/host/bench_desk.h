#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "kvcast/host/request_trace.h"

namespace kvcast {

// Hands a trace's requests, in their order, to readers, and what they have read to publishers: an
// engine looks for a prompt's beginning before it computes the rest and publishes it.
//
// Readers wait while too much waits to be published, so that nobody runs ahead of what could have
// been found. Any thread.
class BenchDesk {
 public:
  struct Request {
    size_t number = 0;
    size_t seen_blocks = 0;  // Leading ones that requests before it had, too.
  };

  // Without readers, publishers take the requests at once. The trace must outlive it.
  BenchDesk(const RequestTrace& trace, size_t readers, size_t waiting_max);

  // Waits; absent when there are no more.
  std::optional<Request> NextToRead();
  // The reader is done with it.
  void HaveRead(const Request& request);
  // Waits; absent when no more will come.
  std::optional<Request> NextToPublish();
  // Nothing more is handed out.
  void Close();

 private:
  Request Take();  // REQUIRES: there is one.

  const RequestTrace* trace_;
  const bool has_readers_;
  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> seen_;  // By block.
  size_t next_ = 0;
  size_t reading_ = 0;
  std::deque<Request> waiting_;
  bool closed_ = false;
};

}  // namespace kvcast
