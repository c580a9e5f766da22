#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// Decides when the peer may send more.
//
// A stream gets its credit back as its bytes arrive, until objects that nobody takes have piled up
// behind it; then it stops, and no other stream does. When all that waits in the session passes its
// own limit, every stream stops that has something untaken, and no stream may be begun in place of
// one that is over. Others go on, and so does the connection: what controls the session, and what
// is taken, never waits for what is not. Beyond a last limit, see full(), streams are to be refused
// rather than stopped.
class CreditBook {
 public:
  CreditBook(const Limits& limits, Outbox& outbox) : limits_(&limits), outbox_(&outbox) {}

  // A stream of the peer's has begun.
  void Open(StreamId stream) { accounts_[stream].open = true; }
  // Bytes came on a stream.
  void Arrived(StreamId stream, size_t bytes);
  // The stream must wait, whatever arrives: its track is not known yet.
  void Hold(StreamId stream);
  void Release(StreamId stream);
  // The stream is over: the peer sends no more on it.
  void Close(StreamId stream);

  // So much waits to be taken, or was taken. Also after the stream is over.
  void Queued(StreamId stream, size_t bytes);
  void Taken(StreamId stream, size_t bytes);

  size_t queued_bytes() const { return queued_bytes_; }
  // So much waits that the peer should begin no more streams.
  bool crowded() const { return queued_bytes_ >= limits_->session_queue_bytes; }
  // How often that has ceased to be so.
  uint64_t times_cleared() const { return times_cleared_; }
  // Nothing more should be queued.
  bool full() const { return queued_bytes_ >= limits_->untaken_bytes_max; }

 private:
  struct Account {
    uint64_t uncredited = 0;
    size_t queued = 0;
    bool held = false;
    bool open = true;
  };

  void Settle(StreamId stream, Account& account);

  const Limits* limits_;
  Outbox* outbox_;
  std::map<StreamId, Account> accounts_;
  size_t queued_bytes_ = 0;
  uint64_t times_cleared_ = 0;
};

}  // namespace kvcast::moqt
