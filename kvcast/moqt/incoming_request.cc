#include "kvcast/moqt/incoming_request.h"

#include <memory>
#include <optional>
#include <utility>

#include "kvcast/moqt/auth_rules.h"
#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/publish_namespace_request.h"
#include "kvcast/moqt/publish_request.h"
#include "kvcast/moqt/reserved_space.h"
#include "kvcast/moqt/subscribe_namespace_request.h"
#include "kvcast/moqt/subscribe_request.h"
#include "kvcast/moqt/subscribe_tracks_request.h"
#include "kvcast/moqt/track_status_request.h"

namespace kvcast::moqt {
namespace {

using Refusal = std::optional<RequestError>;

Refusal Because(RequestCode code, std::string reason) {
  return RequestError{code, std::nullopt, std::move(reason), std::nullopt};
}

// Others may end soon.
Refusal Overloaded(std::string reason) {
  constexpr uint64_t kRetryMs = 1000;
  return RequestError{RequestCode::kExcessiveLoad, kRetryMs, std::move(reason), std::nullopt};
}

// `bytes` is what would be kept of it.
Refusal RefusalOf(const SessionState& state, size_t bytes) {
  if (state.said_goodbye) {
    return Because(RequestCode::kGoingAway, "This session is ending.");
  }
  if (state.requests.peer_request_count() >= state.limits.requests_max) {
    return Overloaded("Too many requests are open.");
  }
  if (state.request_bytes + bytes > state.limits.request_bytes) {
    return Overloaded("The requests that are open are too large.");
  }
  return std::nullopt;
}

Refusal RefusalOf(const SessionState& state, const TrackNamespace& space, size_t bytes) {
  if (IsReserved(space)) {
    return Because(RequestCode::kDoesNotExist, "The namespace is kept for the protocol.");
  }
  return RefusalOf(state, bytes);
}

// Adds the request, and refuses it or tells of it.
RequestId Admit(SessionState& state, std::unique_ptr<Request> request, size_t bytes,
                const Refusal& refusal, Event event) {
  Request& added = state.requests.Add(std::move(request));
  added.Keep(bytes);
  if (refusal) {
    KVCAST_CHECK(added.Refuse(*refusal).ok());
  } else {
    state.outbox.Tell(std::move(event));
  }
  return added.id();
}

// A SUBSCRIBE of ours for the track that waits for an answer.
std::optional<RequestId> WaitingSubscribe(const SessionState& state, const TrackName& track) {
  const std::optional<RequestId> id = state.requests.ReceiverOf(track);
  const auto* ours = id ? state.requests.Find<OutgoingSubscribe>(*id) : nullptr;
  return ours == nullptr || ours->accepted() ? std::nullopt : id;
}

Decoded<RequestId> OpenPublish(SessionState& state, StreamId stream, Publish&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  KVCAST_TRY_VOID(SubscriberSide::CheckAlias(state, message.alias, message.track));
  const RequestId id = message.request_id;
  const size_t bytes = KeptOf(message.track);
  Refusal refusal = RefusalOf(state, message.track.space(), bytes);
  if (!refusal && message.malformed) {
    refusal = Because(RequestCode::kMalformedTrack, "The track's properties are malformed.");
  }
  if (!refusal && state.codec.TraitsOf(message.properties).unknown_mandatory) {
    refusal = Because(RequestCode::kUnsupportedExtension, "The track demands an extension.");
  }
  std::optional<RequestId> crossed;
  if (!refusal && !state.requests.ClaimReceiving(message.track, id)) {
    crossed = WaitingSubscribe(state, message.track);
    if (!crossed) {
      refusal = Because(RequestCode::kDuplicateSubscription, "The track comes already.");
    }
  }
  auto request = std::make_unique<IncomingPublish>(id, stream, state, message.track);
  // A refused track has its alias too, so that its streams are known and dropped.
  if (!refusal || state.requests.IsAliasFree(message.alias)) {
    KVCAST_TRY_VOID(request->Begin(message));
  }
  if (crossed) {
    request->Cross(*crossed);
  }
  return Admit(state, std::move(request), bytes, refusal,
               PublishReceived{id, message.track, message.alias, std::move(message.parameters),
                               std::move(message.properties)});
}

Decoded<RequestId> OpenSubscribe(SessionState& state, StreamId stream, Subscribe&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  const size_t bytes = KeptOf(message.track);
  Refusal refusal = RefusalOf(state, message.track.space(), bytes);
  if (!refusal && !state.requests.ClaimSending(message.track, id)) {
    refusal = Because(RequestCode::kDuplicateSubscription, "The track is sent already.");
  }
  return Admit(state, std::make_unique<IncomingSubscribe>(id, stream, state, message), bytes,
               refusal, SubscribeReceived{id, message.track, message.parameters});
}

// A joining fetch is told of once its subscription says where it ends.
Decoded<RequestId> OpenJoiningFetch(SessionState& state, StreamId stream, Fetch&& message) {
  const RequestId id = message.request_id;
  PublisherSide* joined = state.requests.Find<PublisherSide>(message.joined_request_id);
  const RequestId joined_id = message.joined_request_id;
  const bool early = joined == nullptr && joined_id < id && state.requests.MayCome(joined_id);
  const size_t bytes = TokenBytes(message.parameters);
  Refusal refusal = RefusalOf(state, bytes);
  if (!refusal && !early && (joined == nullptr || !joined->may_be_joined())) {
    refusal = Because(RequestCode::kInvalidJoiningRequestId, "There is no such subscription.");
  }
  auto fetch = std::make_unique<IncomingFetch>(id, stream, state, std::move(message));
  fetch->AwaitSubscription();
  fetch->Keep(bytes);
  Request& added = state.requests.Add(std::move(fetch));
  if (refusal) {
    KVCAST_CHECK(added.Refuse(*refusal).ok());
  } else if (early) {
    state.early_joins.emplace(joined_id, id);
  } else {
    joined->Join(id);
  }
  return id;
}

// Fetches that came before the request they join.
void ResolveEarlyJoins(SessionState& state, RequestId id) {
  PublisherSide* joined = state.requests.Find<PublisherSide>(id);
  for (auto join = state.early_joins.find(id); join != state.early_joins.end();
       join = state.early_joins.find(id)) {
    IncomingFetch* fetch = state.requests.Find<IncomingFetch>(join->second);
    state.early_joins.erase(join);
    if (fetch == nullptr || fetch->over()) {
      continue;
    }
    if (joined != nullptr && joined->may_be_joined()) {
      joined->Join(fetch->id());
    } else {
      fetch->RefuseJoin(RequestCode::kInvalidJoiningRequestId, "There is no such subscription.");
    }
  }
}

Decoded<RequestId> OpenFetch(SessionState& state, StreamId stream, Fetch&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  if (message.type != Fetch::Type::kStandalone) {
    return OpenJoiningFetch(state, stream, std::move(message));
  }
  const RequestId id = message.request_id;
  const size_t bytes = KeptOf(message.track);
  Refusal refusal = RefusalOf(state, message.track.space(), bytes);
  if (!refusal && message.range.empty()) {
    refusal = Because(RequestCode::kInvalidRange, "The range is empty.");
  }
  FetchReceived event{id, message.track, message.range, message.parameters, std::nullopt};
  auto request = std::make_unique<IncomingFetch>(id, stream, state, std::move(message));
  request->ForgetTokens();
  return Admit(state, std::move(request), bytes, refusal, std::move(event));
}

Decoded<RequestId> OpenTrackStatus(SessionState& state, StreamId stream, TrackStatus&& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  const Refusal refusal = RefusalOf(state, message.track.space(), 0);
  return Admit(state, std::make_unique<IncomingTrackStatus>(id, stream, state), 0, refusal,
               TrackStatusReceived{id, message.track, std::move(message.parameters)});
}

template <typename T, typename Told, typename Body>
Decoded<RequestId> OpenSpaceRequest(SessionState& state, StreamId stream, MessageKind kind,
                                    const TrackNamespace& space, bool claims, const Body& message) {
  KVCAST_TRY_VOID(state.requests.NotePeerId(message.request_id));
  KVCAST_TRY_VOID(CheckTokens(message.parameters));
  const RequestId id = message.request_id;
  const size_t bytes = KeptOf(space);
  Refusal refusal = RefusalOf(state, space, bytes);
  if (!refusal && claims && !state.requests.sending_below(kind).Claim(space, id)) {
    refusal = Because(RequestCode::kPrefixOverlap, "Another subscription lies above or below it.");
  }
  return Admit(state, std::make_unique<T>(id, stream, state, space), bytes, refusal,
               Told{id, space, message.parameters});
}

Decoded<RequestId> Open(SessionState& state, StreamId stream, Message& message) {
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
  if (const SubscribeTracks* tracks = std::get_if<SubscribeTracks>(&message)) {
    return OpenSpaceRequest<IncomingSubscribeTracks, SubscribeTracksReceived>(
        state, stream, MessageKind::kSubscribeTracks, tracks->prefix, true, *tracks);
  }
  if (const PublishNamespace* publish = std::get_if<PublishNamespace>(&message)) {
    return OpenSpaceRequest<IncomingPublishNamespace, PublishNamespaceReceived>(
        state, stream, MessageKind::kPublishNamespace, publish->space, false, *publish);
  }
  if (const SubscribeNamespace* subscribe = std::get_if<SubscribeNamespace>(&message)) {
    return OpenSpaceRequest<IncomingSubscribeNamespace, SubscribeNamespaceReceived>(
        state, stream, MessageKind::kSubscribeNamespace, subscribe->prefix, true, *subscribe);
  }
  return Fault::Violation("A request stream begins with " + std::string(NameOf(KindOf(message))) +
                          ".");
}

}  // namespace

Decoded<RequestId> OpenIncomingRequest(SessionState& state, StreamId stream, Message message) {
  KVCAST_TRY(const RequestId id, Open(state, stream, message));
  ResolveEarlyJoins(state, id);
  return id;
}

}  // namespace kvcast::moqt
