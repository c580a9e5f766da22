#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"

namespace kvcast::moqt {

// Counts what waits for the connection by what it costs in memory: its bytes, and a little for each
// piece and for each stream that has some, so that small ones are not free.
//
// What waits on a request's data streams counts for the request, and its sender hears when it was
// ahead and may go on. Messages on requests' own streams count apart.
class SendLedger {
 public:
  SendLedger(const Limits& limits, Outbox& outbox) : limits_(&limits), outbox_(&outbox) {}

  // What a piece and a stream cost beyond their bytes, about.
  static constexpr size_t kPieceBytes = 256;
  static constexpr size_t kStreamBytes = 1024;

  // From now on what waits on the stream counts for the request. It may be open already.
  void Open(StreamId stream, RequestId request);
  void Add(StreamId stream, size_t bytes);
  // Nothing more will be added; it is forgotten once all is sent.
  void Finish(StreamId stream);
  void Sent(StreamId stream, uint64_t bytes);
  // The stream was reset: what waited is gone.
  void Drop(StreamId stream);

  std::optional<RequestId> RequestOf(StreamId stream) const;
  // Of the request's data streams, and of all.
  size_t queued_bytes(RequestId request) const;
  size_t queued_bytes() const { return queued_bytes_; }
  // Requests of which anything waits, and a number of each that is another one whenever some of it
  // was sent.
  std::vector<RequestId> QueuedRequests() const;
  uint64_t progress(RequestId request) const;
  // Of a request's own stream, and of all such.
  size_t message_bytes(StreamId stream) const;
  size_t message_bytes() const { return message_bytes_; }

 private:
  struct Stream {
    RequestId request = 0;
    bool data = false;
    bool finished = false;
    std::deque<size_t> pieces;  // What is left of each.
    size_t cost = 0;
  };
  struct Account {
    size_t queued = 0;
    size_t streams = 0;
    uint64_t progress = 0;
    bool ahead = false;  // Passed the high mark, and not yet fallen to the low one.
  };

  void Reduce(Stream& stream, size_t cost);
  void Forget(std::map<StreamId, Stream>::iterator stream);

  const Limits* limits_;
  Outbox* outbox_;
  std::map<StreamId, Stream> streams_;
  std::map<RequestId, Account> accounts_;  // Of data streams.
  size_t queued_bytes_ = 0;
  size_t message_bytes_ = 0;
  uint64_t last_progress_ = 0;
};

}  // namespace kvcast::moqt
