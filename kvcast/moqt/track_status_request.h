#pragma once

#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

// What a track has, without its objects: we ask.
class OutgoingTrackStatus final : public Request {
 public:
  static Result<RequestId> Open(SessionState& state, const TrackName& track,
                                const Parameters& parameters);
  using Request::Request;

 protected:
  Decoded<void> OnMessage(const Frame& frame) override;
  bool MayEndHere() const override { return false; }
};

// The peer asks.
class IncomingTrackStatus final : public Request {
 public:
  using Request::Request;

  // Invalid: it was answered before. Too large: the properties do not fit a message.
  Result<void> Answer(const Parameters& parameters, const Properties& properties);

 protected:
  Decoded<void> OnMessage(const Frame& frame) override { return Unexpected(frame); }
  bool MayEndHere() const override { return true; }
  bool awaits_answer() const override { return true; }
};

}  // namespace kvcast::moqt
