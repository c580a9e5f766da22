#include "kvcast/moqt/publish_request.h"

namespace kvcast::moqt {

Result<RequestId> OutgoingPublish::Open(SessionState& state, const TrackName& track,
                                        const Parameters& parameters,
                                        const Properties& properties) {
  const RequestId id = state.requests.next_id();
  const uint64_t alias = state.next_alias;
  KVCAST_TRY(Bytes message, state.EncodeRequest(Publish{id, track, alias, parameters, properties}));
  if (!state.requests.ClaimSending(track, id)) {
    return Error(ErrorCode::kInvalid, "The track is sent to this peer already.");
  }
  (void)state.requests.NextId();
  state.TakeAlias();
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

void IncomingPublish::Cross(RequestId ours) {
  crossed_ = ours;
  state().requests.PassReceiving(track(), id());
}

Request* IncomingPublish::crossed() {
  Request* ours = crossed_ ? state().requests.Find(*crossed_) : nullptr;
  return ours == nullptr || ours->over() ? nullptr : ours;
}

void IncomingPublish::RefuseAsDuplicate() {
  constexpr const char* kReason = "The track comes already.";
  if (Refuse({RequestCode::kDuplicateSubscription, std::nullopt, kReason, std::nullopt}).ok()) {
    Tell(RequestCancelled{id(), static_cast<uint64_t>(ResetCode::kCancelled), kReason});
  }
}

void IncomingPublish::Release(ResetCode code) {
  SubscriberSide::Release(code);
  if (const Request* ours = crossed()) {
    (void)state().requests.ClaimReceiving(track(), ours->id());
  }
}

Result<void> IncomingPublish::Accept(const Parameters& parameters) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY_VOID(CheckUpdate(parameters));
  KVCAST_TRY(Bytes message, Encode(RequestOk{parameters, {}}));
  accepted_ = true;
  if (Request* ours = crossed()) {
    ours->Fail(static_cast<uint64_t>(ResetCode::kCancelled),
               "The peer publishes the track itself.");
  }
  track_receiver().Want(parameters);
  SendEncoded(std::move(message));
  AnswerUpdates();
  UnclaimIfDone();
  FinishIfEnded();
  return {};
}

Decoded<void> IncomingPublish::OnMessage(Message& message) {
  const PublishDone* done = std::get_if<PublishDone>(&message);
  return done != nullptr ? OnDone(*done) : Decoded<void>(Unexpected(message));
}

}  // namespace kvcast::moqt
