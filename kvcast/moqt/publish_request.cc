#include "kvcast/moqt/publish_request.h"

namespace kvcast::moqt {

Result<RequestId> OutgoingPublish::Open(SessionState& state, const TrackName& track,
                                        const Parameters& parameters,
                                        const Properties& properties) {
  const RequestId id = state.requests.next_id();
  const uint64_t alias = state.next_alias;
  KVCAST_TRY(Bytes message, state.codec.Encode(Publish{id, track, alias, parameters, properties}));
  if (!state.requests.ClaimSending(track, id)) {
    return Error(ErrorCode::kInvalid, "The track is sent to this peer already.");
  }
  (void)state.requests.NextId();
  ++state.next_alias;
  auto request = std::make_unique<OutgoingPublish>(id, state.OpenBidi(), state, track);
  request->track_sender().Begin(alias, state.codec.TraitsOf(properties), parameters);
  request->largest_ = parameters.largest_object;
  request->SendEncoded(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingPublish::OnMessage(Message& message) {
  if (RequestError* error = std::get_if<RequestError>(&message); error != nullptr && !accepted_) {
    return OnError(*error);
  }
  RequestOk* ok = std::get_if<RequestOk>(&message);
  if (ok == nullptr || accepted_) {
    return Unexpected(message);
  }
  accepted_ = true;
  Parameters wanted = ok->parameters;
  wanted.forward = wanted.forward.value_or(true);  // Whatever PUBLISH said.
  track_sender().Update(wanted);
  Establish(largest_);
  Tell(RequestAccepted{id(), std::move(ok->parameters), {}});
  AnswerUpdates();
  return {};
}

Decoded<void> IncomingPublish::Begin(const Publish& message) {
  return track_receiver().Begin(message.alias, state().codec.TraitsOf(message.properties));
}

Result<void> IncomingPublish::Accept(const Parameters& parameters) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, state().codec.Encode(RequestOk{parameters, {}}));
  accepted_ = true;
  track_receiver().Want(parameters);
  SendEncoded(std::move(message));
  AnswerUpdates();
  FinishIfEnded();
  return {};
}

Decoded<void> IncomingPublish::OnMessage(Message& message) {
  const PublishDone* done = std::get_if<PublishDone>(&message);
  return done != nullptr ? OnDone(*done) : Decoded<void>(Unexpected(message));
}

}  // namespace kvcast::moqt
