#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"

namespace kvcast::moqt {

// Counts, per request, the bytes of its data streams that wait for the connection, and says when a
// sender that was ahead may go on.
class SendLedger {
 public:
  SendLedger(const Limits& limits, Outbox& outbox) : limits_(&limits), outbox_(&outbox) {}

  // From now on the stream's bytes count for the request.
  void Open(StreamId stream, RequestId request);
  void Add(StreamId stream, size_t bytes);
  // Nothing more will be added; it is forgotten once all is sent.
  void Finish(StreamId stream);
  void Sent(StreamId stream, uint64_t bytes);
  // The stream was reset: what waited is gone.
  void Drop(StreamId stream);

  std::optional<RequestId> RequestOf(StreamId stream) const;
  size_t queued_bytes(RequestId request) const;
  size_t queued_bytes() const { return queued_bytes_; }

 private:
  struct Stream {
    RequestId request = 0;
    size_t queued = 0;
    bool finished = false;
  };
  struct Account {
    size_t queued = 0;
    size_t streams = 0;
    bool ahead = false;  // Passed the high mark, and not yet fallen to the low one.
  };

  void Reduce(Account& account, RequestId request, size_t bytes);
  void Forget(std::map<StreamId, Stream>::iterator stream);

  const Limits* limits_;
  Outbox* outbox_;
  std::map<StreamId, Stream> streams_;
  std::map<RequestId, Account> accounts_;
  size_t queued_bytes_ = 0;
};

}  // namespace kvcast::moqt
