#pragma once

#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

// What a track has, without its objects: we ask.
class OutgoingTrackStatus final : public Request {
 public:
  static Result<RequestId> Open(SessionState& state, const TrackName& track,
                                const Parameters& parameters);
  using Request::Request;
  MessageKind kind() const override { return MessageKind::kTrackStatus; }

 protected:
  Decoded<void> OnMessage(Message& message) override;
  bool MayEndHere() const override { return false; }
};

// The peer asks.
class IncomingTrackStatus final : public Request {
 public:
  using Request::Request;
  MessageKind kind() const override { return MessageKind::kTrackStatus; }

  // Invalid: it was answered before. Too large: the properties do not fit a message.
  Result<void> Answer(const Parameters& parameters, const Properties& properties);

 protected:
  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return true; }
  bool awaits_answer() const override { return true; }
};

}  // namespace kvcast::moqt
