#include "kvcast/moqt/subscribe_request.h"

#include "kvcast/moqt/property_rules.h"

namespace kvcast::moqt {

Result<RequestId> OutgoingSubscribe::Open(SessionState& state, const TrackName& track,
                                          const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, (Subscribe{id, track, parameters}.Encode()));
  if (!state.requests.ClaimReceiving(track, id)) {
    return Error(ErrorCode::kInvalid, "The track comes from this peer already.");
  }
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingSubscribe>(id, state.OpenBidi(), state, track);
  request->Send(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingSubscribe::OnMessage(const Frame& frame) {
  if (accepted_) {
    return frame.Is(MessageType::kPublishDone) ? OnDone(frame) : Decoded<void>(Unexpected(frame));
  }
  if (frame.Is(MessageType::kRequestError)) {
    return OnError(frame);
  }
  if (!frame.Is(MessageType::kSubscribeOk)) {
    return Unexpected(frame);
  }
  KVCAST_TRY(SubscribeOk ok, SubscribeOk::Decode(frame.body));
  if (HasUnknownMandatory(ok.properties)) {
    return Fault::Track(ResetCode::kCancelled, "The track demands an extension we do not know.");
  }
  KVCAST_TRY_VOID(track_receiver().Begin(ok.alias, DefaultPriorityOf(ok.properties)));
  accepted_ = true;
  Tell(RequestAccepted{id(), std::move(ok.parameters), std::move(ok.properties)});
  return {};
}

Result<void> IncomingSubscribe::Accept(const Parameters& parameters, const Properties& properties) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  const uint64_t alias = state().next_alias;
  KVCAST_TRY(Bytes message, (SubscribeOk{alias, parameters, properties}.Encode()));
  ++state().next_alias;
  accepted_ = true;
  wanted_.largest_object = parameters.largest_object;
  track_sender().Begin(alias, DefaultPriorityOf(properties), wanted_);
  Send(std::move(message));
  return {};
}

// An update may come before the answer; it then counts as if it had been asked for at first.
void IncomingSubscribe::OnUpdate(const Parameters& parameters) {
  if (accepted_) {
    PublisherSide::OnUpdate(parameters);
    return;
  }
  wanted_.forward = parameters.forward ? parameters.forward : wanted_.forward;
  wanted_.subscriber_priority =
      parameters.subscriber_priority ? parameters.subscriber_priority : wanted_.subscriber_priority;
}

}  // namespace kvcast::moqt
