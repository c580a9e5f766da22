#include "kvcast/moqt/subscribe_request.h"

#include "kvcast/moqt/publish_request.h"

namespace kvcast::moqt {

Result<RequestId> OutgoingSubscribe::Open(SessionState& state, const TrackName& track,
                                          const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, state.EncodeRequest(moqt::Subscribe{id, track, parameters}));
  if (!state.requests.ClaimReceiving(track, id)) {
    return Error(ErrorCode::kInvalid, "The track comes from this peer already.");
  }
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingSubscribe>(id, state.OpenBidi(), state, track);
  request->track_receiver().Want(parameters);
  request->SendEncoded(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingSubscribe::OnMessage(Message& message) {
  if (const PublishDone* done = std::get_if<PublishDone>(&message); done != nullptr && accepted_) {
    return OnDone(*done);
  }
  if (RequestError* error = std::get_if<RequestError>(&message); error != nullptr && !accepted_) {
    return OnError(*error);
  }
  SubscribeOk* ok = std::get_if<SubscribeOk>(&message);
  return ok != nullptr && !accepted_ ? OnOk(*ok) : Decoded<void>(Unexpected(message));
}

Decoded<void> OutgoingSubscribe::OnOk(SubscribeOk& ok) {
  const TrackTraits traits = state().codec.TraitsOf(ok.properties);
  KVCAST_TRY_VOID(CheckAlias(state(), ok.alias, track()));
  if (traits.unknown_mandatory) {
    state().requests.RetireAlias(ok.alias);
    RefuseAnswer(RequestCode::kUnsupportedExtension,
                 "The track demands an extension we do not know.");
    return {};
  }
  // A PUBLISH of the track may have crossed, and wait for an answer.
  if (const auto receiver = state().requests.ReceiverOf(track()); receiver && *receiver != id()) {
    if (IncomingPublish* crossing = state().requests.Find<IncomingPublish>(*receiver)) {
      crossing->RefuseAsDuplicate();
    }
  }
  KVCAST_TRY_VOID(track_receiver().Begin(ok.alias, traits));
  accepted_ = true;
  Tell(RequestAccepted{id(), std::move(ok.parameters), std::move(ok.properties)});
  return {};
}

Result<void> IncomingSubscribe::Accept(const Parameters& parameters, const Properties& properties) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  const uint64_t alias = state().next_alias;
  KVCAST_TRY(Bytes message, Encode(SubscribeOk{alias, parameters, properties}));
  state().TakeAlias();
  accepted_ = true;
  wanted_.largest_object = parameters.largest_object;
  track_sender().Begin(alias, state().codec.TraitsOf(properties), wanted_);
  SendEncoded(std::move(message));
  Establish(parameters.largest_object);
  AnswerUpdates();
  return {};
}

}  // namespace kvcast::moqt
