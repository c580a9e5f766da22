#pragma once

#include <optional>
#include <utility>

#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

// We want every track below a prefix: the peer publishes each by a request of its own, and goes on
// with those when this one ends.
class OutgoingSubscribeTracks final : public Request {
 public:
  // Invalid: a prefix that we subscribed to lies above or below. Too large: it does not fit.
  static Result<RequestId> Open(SessionState& state, const TrackNamespace& prefix,
                                const Parameters& parameters);
  OutgoingSubscribeTracks(RequestId id, StreamId stream, SessionState& state, TrackNamespace prefix)
      : Request(id, stream, state), prefix_(std::move(prefix)) {}
  MessageKind kind() const override { return MessageKind::kSubscribeTracks; }

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool MayEndHere() const override { return false; }
  void Release(ResetCode code) override;

 private:
  Decoded<void> OnBlocked(const PublishBlocked& blocked);

  TrackNamespace prefix_;
  bool accepted_ = false;
};

// The peer wants every track below a prefix. It leaves by ending its half of the stream, well or
// not.
class IncomingSubscribeTracks final : public Request {
 public:
  IncomingSubscribeTracks(RequestId id, StreamId stream, SessionState& state, TrackNamespace prefix)
      : Request(id, stream, state), prefix_(std::move(prefix)) {}
  MessageKind kind() const override { return MessageKind::kSubscribeTracks; }

  // Invalid: it was answered before.
  Result<void> Accept(const Parameters& parameters);
  // Invalid: the track does not lie below the prefix, or the request was not accepted.
  Result<void> Block(const TrackName& track);

 protected:
  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return false; }
  bool awaits_answer() const override { return !accepted_; }
  bool may_be_updated() const override { return true; }
  std::optional<RequestError> RefusalOfUpdate(const Parameters& parameters) override;
  void Release(ResetCode code) override;

 private:
  TrackNamespace prefix_;
  bool accepted_ = false;
};

}  // namespace kvcast::moqt
