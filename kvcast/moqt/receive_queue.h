#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/moqt/credit_book.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/outbox.h"

namespace kvcast::moqt {

// What has arrived for one request and waits to be taken. What waits is counted against the stream
// it came on, so that a user who does not take stops the peer.
class ReceiveQueue {
 public:
  // `now` is the session's clock.
  ReceiveQueue(RequestId request, CreditBook& credit, Outbox& outbox, const Instant& now)
      : request_(request), credit_(&credit), outbox_(&outbox), now_(&now) {}
  ~ReceiveQueue() { Clear(); }
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  void Push(StreamId stream, Received item);
  std::optional<Received> Take();
  void Clear();
  bool empty() const { return items_.empty(); }
  // When something was last taken.
  Instant last_taken() const { return last_taken_; }
  // Of those that came as datagrams.
  size_t datagram_bytes() const { return datagram_bytes_; }

 private:
  struct Item {
    StreamId stream;
    size_t bytes;
    Received content;
  };

  RequestId request_;
  CreditBook* credit_;
  Outbox* outbox_;
  const Instant* now_;
  Instant last_taken_;
  std::deque<Item> items_;
  size_t datagram_bytes_ = 0;
};

}  // namespace kvcast::moqt
