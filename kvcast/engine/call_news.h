#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "kvcast/base/result.h"
#include "kvcast/io/event_signal.h"

namespace kvcast {

// Who is to be told of calls that nobody waits for, by a descriptor: those who share a connection
// have one each. The connection's own, but for that; it must outlive the calls that it is told of.
class CallNews {
 public:
  static Result<CallNews> Make() {
    KVCAST_TRY(EventSignal signal, EventSignal::Make());
    return CallNews(std::move(signal));
  }
  int descriptor() const { return signal_.descriptor(); }

 private:
  friend class NodeConnection;
  explicit CallNews(EventSignal signal) : signal_(std::move(signal)) {}

  EventSignal signal_;
  std::deque<uint64_t> calls_;
};

}  // namespace kvcast
