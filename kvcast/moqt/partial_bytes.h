#pragma once

#include <cstddef>

#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// What a stream holds of a message or object that is not whole, counted for the session.
class PartialBytes {
 public:
  explicit PartialBytes(SessionState& state) : state_(&state) {}
  ~PartialBytes() { (void)Hold(0); }
  PartialBytes(const PartialBytes&) = delete;
  PartialBytes& operator=(const PartialBytes&) = delete;

  // False if all streams together hold too much, of the session or of those that share its room,
  // and this one holds some of it.
  bool Hold(size_t bytes) {
    state_->partial_bytes += bytes - held_;
    state_->received.Move(held_, bytes);
    const bool grows = bytes > held_;
    held_ = bytes;
    if (grows && state_->received.too_much()) {
      state_->received.NoteRefused();
      return false;
    }
    return held_ == 0 || state_->partial_bytes <= state_->limits.partial_bytes_max;
  }

 private:
  SessionState* state_;
  size_t held_ = 0;
};

}  // namespace kvcast::moqt
