#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "kvcast/base/bytes.h"

namespace kvcast {

// What one stream has to send, and what of it may still have to be sent again.
//
// QUIC keeps pointers into these bytes until the peer has acknowledged them, so they stay where
// they are until then. They are never copied.
class SendQueue {
 public:
  void Append(Bytes bytes);
  // Nothing is appended after this.
  void Finish() { finished_ = true; }

  // Whether there is something to send for the first time: bytes, or the end.
  bool HasUnsent() const { return sent_ < appended_ || (finished_ && !end_sent_); }
  uint64_t unsent_bytes() const { return appended_ - sent_; }
  // Whether the peer has yet to acknowledge any of it, sent or not.
  bool holds_any() const { return !items_.empty(); }
  bool finished() const { return finished_; }
  bool has_sent_any() const { return sent_ > 0 || end_sent_; }

  struct Gathered {
    size_t pieces = 0;
    size_t bytes = 0;
    bool end = false;  // The stream ends with them.
  };
  // The next bytes to send, in at most `out.size()` pieces and not many more than `bytes_wanted`.
  Gathered Gather(std::span<ngtcp2_vec> out, size_t bytes_wanted) const;
  // So many of the gathered bytes are on their way, and the end with them or not.
  void Sent(uint64_t bytes, bool end);
  // The peer has everything before `offset`.
  void Acknowledge(uint64_t offset);
  // What was not sent will not be. What was stays until it is acknowledged or the queue is gone.
  void DropUnsent();

 private:
  std::deque<Bytes> items_;
  uint64_t start_ = 0;     // Offset in the stream of the first item.
  uint64_t appended_ = 0;  // Offset after the last item.
  uint64_t sent_ = 0;
  // Where the first byte that is not sent lies.
  size_t item_ = 0;
  size_t piece_ = 0;
  size_t offset_ = 0;
  bool finished_ = false;
  bool end_sent_ = false;
};

}  // namespace kvcast
