#include "kvcast/moqt/subscribe_tracks_request.h"

#include <memory>

namespace kvcast::moqt {

Result<RequestId> OutgoingSubscribeTracks::Open(SessionState& state, const TrackNamespace& prefix,
                                                const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, (SubscribeTracks{id, prefix, parameters}.Encode()));
  if (!state.requests.receiving_below().Claim(prefix, id)) {
    return Error(ErrorCode::kInvalid, "Tracks below this prefix come from this peer already.");
  }
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingSubscribeTracks>(id, state.OpenBidi(), state, prefix);
  request->Send(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingSubscribeTracks::OnMessage(const Frame& frame) {
  if (accepted_) {
    return frame.Is(MessageType::kPublishBlocked) ? OnBlocked(frame)
                                                  : Decoded<void>(Unexpected(frame));
  }
  if (frame.Is(MessageType::kRequestError)) {
    return OnError(frame);
  }
  if (!frame.Is(MessageType::kRequestOk)) {
    return Unexpected(frame);
  }
  KVCAST_TRY(RequestOk ok, RequestOk::Decode(frame.body, ParameterScope::kNamespaceOk));
  accepted_ = true;
  Tell(RequestAccepted{id(), std::move(ok.parameters), {}});
  return {};
}

Decoded<void> OutgoingSubscribeTracks::OnBlocked(const Frame& frame) {
  KVCAST_TRY(const PublishBlocked blocked, PublishBlocked::Decode(frame.body));
  KVCAST_TRY(TrackNamespace space, prefix_.Join(blocked.track.space()));
  KVCAST_TRY(TrackName track, TrackName::Of(std::move(space), blocked.track.name()));
  Tell(PublishBlockedReceived{id(), std::move(track)});
  return {};
}

void OutgoingSubscribeTracks::Release(ResetCode code) {
  (void)code;
  state().requests.receiving_below().Release(id());
}

Result<void> IncomingSubscribeTracks::Accept(const Parameters& parameters) {
  if (over() || accepted_) {
    return Error(ErrorCode::kInvalid, "The request does not wait for an answer.");
  }
  KVCAST_TRY(Bytes message, (RequestOk{parameters, {}}.Encode()));
  accepted_ = true;
  Send(std::move(message));
  return {};
}

Result<void> IncomingSubscribeTracks::Block(const TrackName& track) {
  if (over() || !accepted_ || !prefix_.IsPrefixOf(track.space())) {
    return Error(ErrorCode::kInvalid, "No such track was subscribed to.");
  }
  KVCAST_TRY(TrackName below,
             TrackName::Of(track.space().After(prefix_.field_count()), track.name()));
  KVCAST_TRY(Bytes message, PublishBlocked{std::move(below)}.Encode());
  Send(std::move(message));
  return {};
}

std::optional<RequestError> IncomingSubscribeTracks::RefusalOfUpdate(const Parameters& parameters) {
  if (!parameters.namespace_prefix) {
    return std::nullopt;
  }
  if (!state().requests.sending_below().Claim(*parameters.namespace_prefix, id())) {
    return RequestError{RequestCode::kPrefixOverlap, std::nullopt,
                        "Another subscription has tracks below this prefix.", std::nullopt};
  }
  prefix_ = *parameters.namespace_prefix;
  return std::nullopt;
}

void IncomingSubscribeTracks::Release(ResetCode code) {
  (void)code;
  state().requests.sending_below().Release(id());
}

}  // namespace kvcast::moqt
