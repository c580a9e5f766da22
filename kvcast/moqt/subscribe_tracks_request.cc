#include "kvcast/moqt/subscribe_tracks_request.h"

#include <memory>

namespace kvcast::moqt {

Result<RequestId> OutgoingSubscribeTracks::Open(SessionState& state, const TrackNamespace& prefix,
                                                const Parameters& parameters) {
  const RequestId id = state.requests.next_id();
  KVCAST_TRY(Bytes message, state.codec.Encode(moqt::SubscribeTracks{id, prefix, parameters}));
  if (!state.requests.receiving_below().Claim(prefix, id)) {
    return Error(ErrorCode::kInvalid, "Tracks below this prefix come from this peer already.");
  }
  (void)state.requests.NextId();
  auto request = std::make_unique<OutgoingSubscribeTracks>(id, state.OpenBidi(), state, prefix);
  request->SendEncoded(std::move(message));
  state.requests.Add(std::move(request));
  return id;
}

Decoded<void> OutgoingSubscribeTracks::OnMessage(Message& message) {
  if (const PublishBlocked* blocked = std::get_if<PublishBlocked>(&message);
      blocked != nullptr && accepted_) {
    return OnBlocked(*blocked);
  }
  if (RequestError* error = std::get_if<RequestError>(&message); error != nullptr && !accepted_) {
    return OnError(*error);
  }
  RequestOk* ok = std::get_if<RequestOk>(&message);
  if (ok == nullptr || accepted_) {
    return Unexpected(message);
  }
  accepted_ = true;
  Tell(RequestAccepted{id(), std::move(ok->parameters), {}});
  return {};
}

Decoded<void> OutgoingSubscribeTracks::OnBlocked(const PublishBlocked& blocked) {
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
  KVCAST_TRY(Bytes message, state().codec.Encode(RequestOk{parameters, {}}));
  accepted_ = true;
  SendEncoded(std::move(message));
  return {};
}

Result<void> IncomingSubscribeTracks::Block(const TrackName& track) {
  if (over() || !accepted_ || !prefix_.IsPrefixOf(track.space())) {
    return Error(ErrorCode::kInvalid, "No such track was subscribed to.");
  }
  KVCAST_TRY(TrackName below,
             TrackName::Of(track.space().After(prefix_.field_count()), track.name()));
  KVCAST_TRY(Bytes message, state().codec.Encode(PublishBlocked{std::move(below)}));
  SendEncoded(std::move(message));
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
