#pragma once

#include <cstddef>

#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// What a stream holds of a message or object that is not whole, counted for the session.
class PartialBytes {
 public:
  explicit PartialBytes(SessionState& state) : state_(&state) {}
  ~PartialBytes() { state_->partial_bytes -= held_; }
  PartialBytes(const PartialBytes&) = delete;
  PartialBytes& operator=(const PartialBytes&) = delete;

  // False if all streams together hold too much, and this one holds some of it.
  bool Hold(size_t bytes) {
    state_->partial_bytes += bytes - held_;
    held_ = bytes;
    return held_ == 0 || state_->partial_bytes <= state_->limits.partial_bytes_max;
  }

 private:
  SessionState* state_;
  size_t held_ = 0;
};

}  // namespace kvcast::moqt
