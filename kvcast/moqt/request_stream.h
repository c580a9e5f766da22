#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/late_messages.h"
#include "kvcast/moqt/partial_bytes.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/waiting_bytes.h"

namespace kvcast::moqt {

class Request;

// A two-way stream: it puts the peer's messages together and hands them to the request it carries,
// which the first one makes if the peer opened the stream.
class RequestStream {
 public:
  // `request` is ours, if we opened the stream, and `asked` its kind.
  RequestStream(StreamId stream, std::optional<RequestId> request, std::optional<MessageKind> asked,
                SessionState& state)
      : stream_(stream),
        request_(request),
        asked_(asked),
        state_(&state),
        waiting_(stream, state),
        frames_(state.codec),
        partial_(state) {}

  Decoded<void> OnData(std::span<const std::byte> bytes, bool fin);
  void OnReset(uint64_t code);
  void OnStopSending(uint64_t code);
  // SETUP has come.
  Decoded<void> Resume();

  bool waiting() const { return waiting_.waiting(); }
  // Its request is over and about to be forgotten.
  void OnRequestGone(const Request& request);

  // The peer sends no more on it.
  bool over() const { return over_ && !waiting(); }
  // Nor do we, and nobody needs it any more.
  bool done() const { return over() && request() == nullptr; }

 private:
  Decoded<void> Run(std::span<const std::byte> bytes);
  Decoded<void> OnFrame(const std::string& frame);
  Decoded<void> OnLateFrame(const std::string& frame, LateMessages& late);
  void RetireAliasIn(const std::string& frame);
  void Refuse(uint64_t code);
  Request* request() const;

  StreamId stream_;
  std::optional<RequestId> request_;
  std::optional<MessageKind> asked_;
  SessionState* state_;
  WaitingBytes waiting_;
  FrameReader frames_;
  PartialBytes partial_;
  std::optional<LateMessages> late_;  // Once the request is over, and something came or it is gone.
  bool fin_ = false;
  bool over_ = false;
  bool refused_ = false;
};

}  // namespace kvcast::moqt
