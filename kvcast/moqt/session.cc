#include "kvcast/moqt/session.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

Session::Session(Role role, const Setup& setup, const Limits& limits, Instant now,
                 const Codec& codec, const SessionShare& share)
    : state_(role, codec, limits, share),
      streams_(state_),
      shape_(codec.MakeShape(state_, streams_)),
      setup_deadline_(now + limits.setup_patience) {
  state_.now = now;
  Setup ours = setup;
  ours.auth_token_cache_bytes_max = 0;  // We keep none.
  SendControl(ours);
}

Session::~Session() = default;

void Session::SendControl(const Message& message) {
  Bytes encoded = state_.codec.Encode(message).value();
  if (shape_) {
    shape_->SendControl(std::move(encoded));
  } else {
    streams_.SendControl(std::move(encoded));
  }
}

void Session::OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (!shape_) {
    streams_.OnStreamData(stream, bytes, fin);
  } else if (!closed()) {
    (void)streams_.Check(shape_->OnStreamData(stream, bytes, fin));
  }
}

void Session::OnStreamReset(StreamId stream, uint64_t code) {
  if (!shape_) {
    streams_.OnStreamReset(stream, code);
  } else if (!closed()) {
    (void)streams_.Check(shape_->OnStreamReset(stream, code));
  }
}

void Session::OnStopSending(StreamId stream, uint64_t code) {
  if (!shape_) {
    streams_.OnStopSending(stream, code);
  } else if (!closed()) {
    (void)streams_.Check(shape_->OnStopSending(stream, code));
  }
}

void Session::OnBytesSent(StreamId stream, uint64_t bytes) {
  if (!shape_) {
    streams_.OnBytesSent(stream, bytes);
  } else if (!closed()) {
    shape_->OnBytesSent(stream, bytes);
  }
}

void Session::OnStreamsAllowed(uint64_t bidi_total) {
  if (shape_) {
    shape_->OnStreamsAllowed(bidi_total);
  } else {
    streams_.OnStreamsAllowed(bidi_total);
  }
}

std::optional<TransportAction> Session::NextAction() {
  return shape_ ? shape_->NextAction() : streams_.NextAction();
}

void Session::OnTimeout(Instant now) {
  OnTime(now);
  if (closed()) {
    return;
  }
  if (!state_.setup_received && now >= setup_deadline_) {
    Close(SessionCode::kControlMessageTimeout, "SETUP did not come in time.");
    return;
  }
  if (goaway_deadline_ && now >= *goaway_deadline_) {
    const bool open = state_.requests.size() > 0;
    Close(open ? SessionCode::kGoAwayTimeout : SessionCode::kNoError,
          "The session ends, as was said.");
    return;
  }
  while (const std::optional<Timers::Key> due = state_.timers.TakeDue(now)) {
    if (Request* request = state_.requests.Find(due->request)) {
      request->OnTimer(due->kind);
    }
  }
  streams_.MakeRoom();
  streams_.DropLongWaiting();
  streams_.Settle();
}

std::optional<Instant> Session::deadline() const {
  if (closed()) {
    return std::nullopt;
  }
  std::optional<Instant> first = state_.timers.next();
  for (const std::optional<Instant>& other :
       {state_.setup_received ? std::nullopt : std::optional(setup_deadline_), goaway_deadline_,
        streams_.deadline()}) {
    first = first && other ? std::min(first, other) : other ? other : first;
  }
  return first;
}

bool Session::HasOpenSubgroups(RequestId request, uint64_t first_group, uint64_t last_group) const {
  Request* found = state_.requests.Find(request);
  return found != nullptr && !found->over() && found->receiver() != nullptr &&
         found->receiver()->HasOpenStreams(first_group, last_group);
}

std::optional<Received> Session::Take(RequestId request) {
  Request* found = state_.requests.Find(request);
  ReceiveQueue* queue = found == nullptr ? nullptr : found->queue();
  if (queue == nullptr) {
    return std::nullopt;
  }
  std::optional<Received> item = queue->Take();
  if (found->over() && queue->empty()) {
    streams_.EraseRequest(*found);
  }
  streams_.Settle();  // Streams that stopped may go on.
  return item;
}

}  // namespace kvcast::moqt
