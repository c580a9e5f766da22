#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "kvcast/moqt/credit_book.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/outbox.h"

namespace kvcast::moqt {

// What has arrived for one request and waits to be taken. What waits is counted against the stream
// it came on, so that a user who does not take stops the peer.
class ReceiveQueue {
 public:
  ReceiveQueue(RequestId request, CreditBook& credit, Outbox& outbox)
      : request_(request), credit_(&credit), outbox_(&outbox) {}
  ~ReceiveQueue() { Clear(); }
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  void Push(StreamId stream, Received item);
  std::optional<Received> Take();
  void Clear();
  bool empty() const { return items_.empty(); }
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
  std::deque<Item> items_;
  size_t datagram_bytes_ = 0;
};

}  // namespace kvcast::moqt
