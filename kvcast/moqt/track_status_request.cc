#include "kvcast/moqt/track_status_request.h"

#include <memory>

namespace kvcast::moqt {

Result<RequestId> OutgoingTrackStatus::Open(SessionState& state, const TrackName& track,
                                            const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, state.EncodeRequest(TrackStatus{id, track, parameters}));
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingTrackStatus>(id, state.OpenBidi(), state);
  request->SendEncoded(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingTrackStatus::OnMessage(Message& message) {
  if (RequestError* error = std::get_if<RequestError>(&message)) {
    return OnError(*error);
  }
  RequestOk* ok = std::get_if<RequestOk>(&message);
  if (ok == nullptr) {
    return Unexpected(message);
  }
  NoteLastMessage(false);
  Tell(RequestAccepted{id(), std::move(ok->parameters), std::move(ok->properties)});
  Finish();
  return {};
}

Result<void> IncomingTrackStatus::Answer(const Parameters& parameters,
                                         const Properties& properties) {
  if (over()) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, Encode(RequestOk{parameters, properties}));
  SendEncoded(std::move(message), true);
  Finish();
  return {};
}

}  // namespace kvcast::moqt
