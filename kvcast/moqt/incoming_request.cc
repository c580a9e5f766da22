#include "kvcast/moqt/incoming_request.h"

#include <memory>
#include <optional>
#include <utility>

#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/publish_request.h"
#include "kvcast/moqt/subscribe_request.h"
#include "kvcast/moqt/subscribe_tracks_request.h"
#include "kvcast/moqt/track_status_request.h"

namespace kvcast::moqt {
namespace {

using Refusal = std::optional<RequestError>;

Refusal Because(RequestCode code, std::string reason) {
  return RequestError{code, std::nullopt, std::move(reason), std::nullopt};
}

// A request that is known only well enough to be refused.
class RefusedRequest final : public Request {
 public:
  RefusedRequest(RequestId id, StreamId stream, SessionState& state, MessageKind kind)
      : Request(id, stream, state), kind_(kind) {}
  MessageKind kind() const override { return kind_; }

 protected:
  Decoded<void> OnMessage(Message& message) override { return Unexpected(message); }
  bool MayEndHere() const override { return true; }
  bool awaits_answer() const override { return true; }

 private:
  MessageKind kind_;
};

// We keep no tokens, so an alias cannot stand for one.
Decoded<void> CheckTokens(const Parameters& parameters) {
  for (const AuthToken& token : parameters.auth_tokens) {
    if (token.alias_type == AuthToken::AliasType::kRegister) {
      return Fault::Session(SessionCode::kAuthTokenCacheOverflow, "We keep no tokens.");
    }
    if (token.alias_type != AuthToken::AliasType::kUseValue) {
      return Fault::Session(SessionCode::kUnknownAuthTokenAlias, "No token has this alias.");
    }
  }
  return {};
}

Refusal RefusalOf(const SessionState& state, RequestId id) {
  if (state.refused_from && id >= *state.refused_from) {
    return Because(RequestCode::kGoingAway, "This session is ending.");
  }
  if (state.requests.peer_request_count() >= state.limits.requests_max) {
    return Because(RequestCode::kExcessiveLoad, "Too many requests are open.");
  }
  return std::nullopt;
}

// "." stands for nothing, and we have no tracks of a session's own.
Refusal RefusalOf(const SessionState& state, RequestId id, const TrackNamespace& space) {
  if (space.field_count() > 0 && (space.field(0) == "." || space.field(0) == ".session")) {
    return Because(RequestCode::kDoesNotExist, "The namespace is kept for the protocol.");
  }
  return RefusalOf(state, id);
}

// Adds the request, and refuses it or tells of it.
RequestId Admit(SessionState& state, std::unique_ptr<Request> request, const Refusal& refusal,
                Event event) {
  Request& added = state.requests.Add(std::move(request));
  if (refusal) {
    KVCAST_CHECK(added.Refuse(*refusal).ok());
  } else {
    state.outbox.Tell(std::move(event));
  }
  return added.id();
}

Decoded<RequestId> OpenPublish(SessionState& state, StreamId stream, Publish&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  Refusal refusal = RefusalOf(state, id, message.track.space());
  if (!refusal && state.codec.TraitsOf(message.properties).unknown_mandatory) {
    refusal = Because(RequestCode::kUnsupportedExtension, "The track demands an extension.");
  }
  if (!refusal && !state.requests.ClaimReceiving(message.track, id)) {
    refusal = Because(RequestCode::kDuplicateSubscription, "The track comes already.");
  }
  auto request = std::make_unique<IncomingPublish>(id, stream, state, message.track);
  // A refused track has its alias too, so that its streams are known and dropped.
  if (!refusal || state.requests.FindAlias(message.alias) == nullptr) {
    KVCAST_TRY_VOID(request->Begin(message));
  }
  return Admit(state, std::move(request), refusal,
               PublishReceived{id, message.track, message.alias, std::move(message.parameters),
                               std::move(message.properties)});
}

Decoded<RequestId> OpenSubscribe(SessionState& state, StreamId stream, Subscribe&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  Refusal refusal = RefusalOf(state, id, message.track.space());
  if (!refusal && !state.requests.ClaimSending(message.track, id)) {
    refusal = Because(RequestCode::kDuplicateSubscription, "The track is sent already.");
  }
  return Admit(state, std::make_unique<IncomingSubscribe>(id, stream, state, message), refusal,
               SubscribeReceived{id, message.track, message.parameters});
}

Decoded<RequestId> OpenFetch(SessionState& state, StreamId stream, Fetch&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  Refusal refusal = RefusalOf(state, id, message.track.space());
  if (!refusal && message.type != Fetch::Type::kStandalone) {
    refusal = Because(RequestCode::kNotSupported, "Joining fetches are not supported.");
  }
  if (!refusal && message.range.empty()) {
    refusal = Because(RequestCode::kInvalidRange, "The range is empty.");
  }
  return Admit(state, std::make_unique<IncomingFetch>(id, stream, state, message), refusal,
               FetchReceived{id, message.track, message.range, message.parameters});
}

Decoded<RequestId> OpenTrackStatus(SessionState& state, StreamId stream, TrackStatus&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  const Refusal refusal = RefusalOf(state, id, message.track.space());
  return Admit(state, std::make_unique<IncomingTrackStatus>(id, stream, state), refusal,
               TrackStatusReceived{id, message.track, std::move(message.parameters)});
}

Decoded<RequestId> OpenSubscribeTracks(SessionState& state, StreamId stream,
                                       SubscribeTracks&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  Refusal refusal = RefusalOf(state, id, message.prefix);
  if (!refusal && !state.requests.sending_below().Claim(message.prefix, id)) {
    refusal = Because(RequestCode::kPrefixOverlap, "Another subscription has tracks below it.");
  }
  return Admit(state, std::make_unique<IncomingSubscribeTracks>(id, stream, state, message.prefix),
               refusal, SubscribeTracksReceived{id, message.prefix, message.parameters});
}

Decoded<RequestId> RefuseUnsupported(SessionState& state, StreamId stream, RequestId id,
                                     MessageKind kind) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(id));
  return Admit(state, std::make_unique<RefusedRequest>(id, stream, state, kind),
               Because(RequestCode::kNotSupported, "Namespaces are not supported."), SetupDone{});
}

}  // namespace

Decoded<RequestId> OpenIncomingRequest(SessionState& state, StreamId stream, Message message) {
  if (Publish* publish = std::get_if<Publish>(&message)) {
    return OpenPublish(state, stream, std::move(*publish));
  }
  if (Subscribe* subscribe = std::get_if<Subscribe>(&message)) {
    return OpenSubscribe(state, stream, std::move(*subscribe));
  }
  if (Fetch* fetch = std::get_if<Fetch>(&message)) {
    return OpenFetch(state, stream, std::move(*fetch));
  }
  if (TrackStatus* status = std::get_if<TrackStatus>(&message)) {
    return OpenTrackStatus(state, stream, std::move(*status));
  }
  if (SubscribeTracks* tracks = std::get_if<SubscribeTracks>(&message)) {
    return OpenSubscribeTracks(state, stream, std::move(*tracks));
  }
  if (const PublishNamespace* publish = std::get_if<PublishNamespace>(&message)) {
    return RefuseUnsupported(state, stream, publish->request_id, MessageKind::kPublishNamespace);
  }
  if (const SubscribeNamespace* subscribe = std::get_if<SubscribeNamespace>(&message)) {
    return RefuseUnsupported(state, stream, subscribe->request_id,
                             MessageKind::kSubscribeNamespace);
  }
  return Fault::Violation("A request stream begins with " + std::string(NameOf(KindOf(message))) +
                          ".");
}

}  // namespace kvcast::moqt
