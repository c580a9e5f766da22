#include "kvcast/moqt/track_status_request.h"

#include <memory>

namespace kvcast::moqt {

Result<RequestId> OutgoingTrackStatus::Open(SessionState& state, const TrackName& track,
                                            const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, (TrackStatus{id, track, parameters}.Encode()));
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingTrackStatus>(id, state.OpenBidi(), state);
  request->Send(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingTrackStatus::OnMessage(const Frame& frame) {
  if (frame.Is(MessageType::kRequestError)) {
    return OnError(frame);
  }
  if (!frame.Is(MessageType::kRequestOk)) {
    return Unexpected(frame);
  }
  KVCAST_TRY(RequestOk ok, RequestOk::Decode(frame.body, ParameterScope::kTrackStatusOk));
  Tell(RequestAccepted{id(), std::move(ok.parameters), std::move(ok.properties)});
  Finish();
  return {};
}

Result<void> IncomingTrackStatus::Answer(const Parameters& parameters,
                                         const Properties& properties) {
  if (over()) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, (RequestOk{parameters, properties}.Encode()));
  Send(std::move(message), true);
  Finish();
  return {};
}

}  // namespace kvcast::moqt
