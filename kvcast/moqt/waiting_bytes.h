#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "kvcast/moqt/session_state.h"

namespace kvcast::moqt {

// What arrived on a stream that cannot be read yet. Its stream gets no credit meanwhile, and all
// such streams of a session share one limit.
class WaitingBytes {
 public:
  WaitingBytes(StreamId stream, SessionState& state) : stream_(stream), state_(&state) {}
  ~WaitingBytes() {
    Count(bytes_.size(), 0);
    state_->waiting.Remove(stream_);
  }
  WaitingBytes(const WaitingBytes&) = delete;
  WaitingBytes& operator=(const WaitingBytes&) = delete;

  bool waiting() const { return waiting_; }

  // `cause` is what the stream waits for. False if it is too much: the stream should be refused.
  bool Keep(std::span<const std::byte> bytes, const WaitingStreams::Cause& cause) {
    if (state_->early_bytes + bytes.size() > state_->limits.early_bytes ||
        (state_->received.too_much() && !bytes.empty()) ||
        (!waiting_ && state_->waiting.size() >= state_->limits.waiting_streams_max)) {
      return false;
    }
    state_->waiting.Add(stream_, cause, state_->now);
    state_->credit.Hold(stream_);
    waiting_ = true;
    bytes_.append(AsText(bytes));
    Count(0, bytes.size());
    return true;
  }

  // What was kept. The stream waits no longer.
  std::string Take() {
    Count(bytes_.size(), 0);
    if (std::exchange(waiting_, false)) {
      state_->waiting.Remove(stream_);
      state_->credit.Release(stream_);
    }
    return std::exchange(bytes_, {});
  }

 private:
  void Count(size_t from, size_t to) {
    state_->early_bytes += to - from;
    state_->received.Move(from, to);
  }

  StreamId stream_;
  SessionState* state_;
  bool waiting_ = false;
  std::string bytes_;
};

}  // namespace kvcast::moqt
