#include "kvcast/moqt/publish_request.h"

#include "kvcast/moqt/property_rules.h"

namespace kvcast::moqt {

Result<RequestId> OutgoingPublish::Open(SessionState& state, const TrackName& track,
                                        const Parameters& parameters,
                                        const Properties& properties) {
  const RequestId id = state.requests.next_id();
  const uint64_t alias = state.next_alias;
  KVCAST_TRY(Bytes message, (Publish{id, track, alias, parameters, properties}.Encode()));
  if (!state.requests.ClaimSending(track, id)) {
    return Error(ErrorCode::kInvalid, "The track is sent to this peer already.");
  }
  (void)state.requests.NextId();
  ++state.next_alias;
  auto request = std::make_unique<OutgoingPublish>(id, state.OpenBidi(), state, track);
  request->track_sender().Begin(alias, DefaultPriorityOf(properties), parameters);
  request->Send(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingPublish::OnMessage(const Frame& frame) {
  if (accepted_) {
    return Unexpected(frame);
  }
  if (frame.Is(MessageType::kRequestError)) {
    return OnError(frame);
  }
  if (!frame.Is(MessageType::kRequestOk)) {
    return Unexpected(frame);
  }
  KVCAST_TRY(RequestOk ok, RequestOk::Decode(frame.body, ParameterScope::kPublishOk));
  accepted_ = true;
  track_sender().Update(ok.parameters);
  Tell(RequestAccepted{id(), std::move(ok.parameters), {}});
  return {};
}

Decoded<void> IncomingPublish::Begin(const Publish& message) {
  return track_receiver().Begin(message.alias, DefaultPriorityOf(message.properties));
}

Result<void> IncomingPublish::Accept(const Parameters& parameters) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, (RequestOk{parameters, {}}.Encode()));
  accepted_ = true;
  Send(std::move(message));
  FinishIfComplete();
  return {};
}

Decoded<void> IncomingPublish::OnMessage(const Frame& frame) {
  return frame.Is(MessageType::kPublishDone) ? OnDone(frame) : Decoded<void>(Unexpected(frame));
}

}  // namespace kvcast::moqt
