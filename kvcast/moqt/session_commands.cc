// The user's side of a session: each command finds its request and leaves the rest to it.
#include <utility>

#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/publish_namespace_request.h"
#include "kvcast/moqt/publish_request.h"
#include "kvcast/moqt/reserved_space.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/subscribe_namespace_request.h"
#include "kvcast/moqt/subscribe_request.h"
#include "kvcast/moqt/subscribe_tracks_request.h"
#include "kvcast/moqt/track_status_request.h"

namespace kvcast::moqt {

template <typename T>
Result<T*> Session::Find(RequestId request) {
  T* found = closed() ? nullptr : state_.requests.Find<T>(request);
  if (found == nullptr) {
    return Error(ErrorCode::kNotFound, "There is no such request.");
  }
  return found;
}

Result<TrackSender*> Session::FindSender(RequestId request) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  if (found->sender() == nullptr) {
    return Error(ErrorCode::kInvalid, "The request sends no track.");
  }
  return found->sender();
}

Result<void> Session::MayAsk() const {
  if (closed() || state_.goaway) {
    return Error(ErrorCode::kInvalid, closed() ? "The session is closed." : "The peer is leaving.");
  }
  if (!state_.has_room_to_ask()) {
    return Error(ErrorCode::kTooLarge,
                 "The peer lets us open no more streams, or does not read what it is sent.");
  }
  return {};
}

Result<void> Session::MayAsk(const TrackNamespace& space) const {
  if (IsReserved(space)) {
    return Error(ErrorCode::kInvalid, "The namespace is kept for the protocol.");
  }
  return MayAsk();
}

Result<void> Session::MayPublish(const TrackName& track) {
  Result<void> may_ask = MayAsk(track.space());
  if (!may_ask.ok() && may_ask.error().code() != ErrorCode::kTooLarge) {
    return may_ask;
  }
  const std::optional<RequestId> wanted =
      state_.requests.sending_below(MessageKind::kSubscribeTracks).Covering(track.space());
  IncomingSubscribeTracks* tracks =
      wanted ? state_.requests.Find<IncomingSubscribeTracks>(*wanted) : nullptr;
  if (tracks == nullptr) {
    return may_ask;
  }
  if (may_ask.ok() && state_.may_open_bidi() && !tracks->IsBlocked(track)) {
    return {};
  }
  KVCAST_TRY_VOID(tracks->Block(track));
  return Error(ErrorCode::kTooLarge, "The peer lets us open no more streams, or did not before.");
}

// What comes back on the stream of a request of ours is for it.
Result<RequestId> Session::Opened(Result<RequestId> request) {
  if (request.ok()) {
    streams_.Await(*state_.requests.Find(*request));
  }
  return request;
}

Result<void> Session::Done(Result<void> result) {
  streams_.Settle();
  return result;
}

Result<RequestId> Session::Publish(const TrackName& track, const Parameters& parameters,
                                   const Properties& properties) {
  KVCAST_TRY_VOID(MayPublish(track));
  return Opened(OutgoingPublish::Open(state_, track, parameters, properties));
}

Result<RequestId> Session::Subscribe(const TrackName& track, const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(track.space()));
  return Opened(OutgoingSubscribe::Open(state_, track, parameters));
}

Result<RequestId> Session::SubscribeTracks(const TrackNamespace& prefix,
                                           const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(prefix));
  return Opened(OutgoingSubscribeTracks::Open(state_, prefix, parameters));
}

Result<RequestId> Session::PublishNamespace(const TrackNamespace& space,
                                            const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(space));
  return Opened(OutgoingPublishNamespace::Open(state_, space, parameters));
}

Result<RequestId> Session::SubscribeNamespace(const TrackNamespace& prefix,
                                              const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(prefix));
  return Opened(OutgoingSubscribeNamespace::Open(state_, prefix, parameters));
}

Result<RequestId> Session::Fetch(const TrackName& track, const LocationRange& range,
                                 const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(track.space()));
  moqt::Fetch fetch;
  fetch.track = track;
  fetch.range = range;
  fetch.parameters = parameters;
  return Opened(OutgoingFetch::Open(state_, std::move(fetch)));
}

// Only the publisher knows for certain where the subscription began, and so where the fetch ends.
Result<RequestId> Session::FetchJoining(RequestId subscription, moqt::Fetch::Type type,
                                        uint64_t start, const Parameters& parameters) {
  KVCAST_CHECK(type != moqt::Fetch::Type::kStandalone);
  KVCAST_TRY_VOID(MayAsk());
  KVCAST_TRY(SubscriberSide * found, Find<SubscriberSide>(subscription));
  if (found->over()) {
    return Error(ErrorCode::kInvalid, "The subscription is over.");
  }
  constexpr uint64_t kMax = LocationRange::kWholeGroup;
  moqt::Fetch fetch;
  fetch.type = type;
  fetch.track = found->track();
  fetch.range = {{type == moqt::Fetch::Type::kAbsoluteJoining ? start : 0, 0}, {kMax, kMax}};
  fetch.joined_request_id = subscription;
  fetch.joining_start = start;
  fetch.parameters = parameters;
  return Opened(OutgoingFetch::Open(state_, std::move(fetch)));
}

Result<RequestId> Session::AskTrackStatus(const TrackName& track, const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk(track.space()));
  return Opened(OutgoingTrackStatus::Open(state_, track, parameters));
}

Result<void> Session::AcceptSubscribe(RequestId request, const Parameters& parameters,
                                      const Properties& properties) {
  KVCAST_TRY(IncomingSubscribe * found, Find<IncomingSubscribe>(request));
  return Done(found->Accept(parameters, properties));
}

Result<void> Session::AcceptPublish(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(IncomingPublish * found, Find<IncomingPublish>(request));
  return Done(found->Accept(parameters));
}

Result<void> Session::AcceptSubscribeTracks(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(IncomingSubscribeTracks * found, Find<IncomingSubscribeTracks>(request));
  return Done(found->Accept(parameters));
}

Result<void> Session::AcceptPublishNamespace(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(IncomingPublishNamespace * found, Find<IncomingPublishNamespace>(request));
  return Done(found->Accept(parameters));
}

Result<void> Session::AcceptSubscribeNamespace(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(IncomingSubscribeNamespace * found, Find<IncomingSubscribeNamespace>(request));
  return Done(found->Accept(parameters));
}

Result<void> Session::AnnounceNamespace(RequestId request, const TrackNamespace& space) {
  KVCAST_TRY(IncomingSubscribeNamespace * found, Find<IncomingSubscribeNamespace>(request));
  return Done(found->Announce(space));
}

Result<void> Session::WithdrawNamespace(RequestId request, const TrackNamespace& space) {
  KVCAST_TRY(IncomingSubscribeNamespace * found, Find<IncomingSubscribeNamespace>(request));
  return Done(found->Withdraw(space));
}

Result<void> Session::SendPublishBlocked(RequestId request, const TrackName& track) {
  KVCAST_TRY(IncomingSubscribeTracks * found, Find<IncomingSubscribeTracks>(request));
  return found->Block(track);
}

Result<void> Session::AcceptFetch(RequestId request, const FetchOk& answer) {
  KVCAST_TRY(IncomingFetch * found, Find<IncomingFetch>(request));
  return Done(found->Accept(answer));
}

Result<void> Session::AnswerTrackStatus(RequestId request, const Parameters& parameters,
                                        const Properties& properties) {
  KVCAST_TRY(IncomingTrackStatus * found, Find<IncomingTrackStatus>(request));
  return Done(found->Answer(parameters, properties));
}

Result<StreamId> Session::OpenSubgroup(RequestId request, const SubgroupHeader& header) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->OpenSubgroup(header);
}

Result<void> Session::SendObject(RequestId request, StreamId subgroup, const Object& object,
                                 std::optional<Instant> since) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->Send(subgroup, object, since.value_or(state_.now));
}

Result<void> Session::SendDatagramObject(RequestId request, const Object& object, bool end_of_group,
                                         std::optional<Instant> since) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->SendAlone(object, end_of_group, since.value_or(state_.now));
}

Result<void> Session::EndSubgroup(RequestId request, StreamId subgroup) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->End(subgroup);
}

Result<void> Session::ResetSubgroup(RequestId request, StreamId subgroup, ResetCode code) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->Reset(subgroup, code);
}

Result<void> Session::EndTrack(RequestId request, DoneCode code, std::string reason,
                               bool lacks_some) {
  KVCAST_TRY(PublisherSide * found, Find<PublisherSide>(request));
  return Done(found->EndTrack(code, std::move(reason), lacks_some));
}

bool Session::IsEnding(const TrackName& track) const {
  const std::optional<RequestId> id = state_.requests.SenderOf(track);
  const auto* sender = id ? state_.requests.Find<PublisherSide>(*id) : nullptr;
  return sender != nullptr && sender->ending();
}

Result<void> Session::SendFetched(RequestId request, const Object& object) {
  KVCAST_TRY(IncomingFetch * found, Find<IncomingFetch>(request));
  return found->Send(object);
}

Result<void> Session::SendFetched(RequestId request, const RangeEnd& end) {
  KVCAST_TRY(IncomingFetch * found, Find<IncomingFetch>(request));
  return found->Send(end);
}

Result<void> Session::EndFetch(RequestId request) {
  KVCAST_TRY(IncomingFetch * found, Find<IncomingFetch>(request));
  return Done(found->EndData());
}

Result<void> Session::ResetFetch(RequestId request, ResetCode code) {
  KVCAST_TRY(IncomingFetch * found, Find<IncomingFetch>(request));
  return Done(found->ResetData(code));
}

Result<RequestId> Session::Update(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return found->Update(parameters);
}

Result<void> Session::AcceptUpdate(RequestId request, const Parameters& parameters) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return Done(found->AcceptUpdate(parameters));
}

Result<void> Session::RefuseUpdate(RequestId request, const RequestError& error) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return Done(found->RefuseUpdate(error));
}

Result<void> Session::RefuseRequest(RequestId request, const RequestError& error) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return Done(found->Refuse(error));
}

void Session::Cancel(RequestId request, ResetCode code) {
  if (Request* found = closed() ? nullptr : state_.requests.Find(request)) {
    found->Cancel(code);
    state_.ended.push_back(request);  // It may have been over before, with something untaken.
    streams_.Settle();
  }
}

Result<void> Session::SendGoAway(std::string uri, uint64_t timeout_ms) {
  if (closed() || state_.said_goodbye || (state_.role == Role::kClient && !uri.empty())) {
    return Error(ErrorCode::kInvalid, "Goodbye was said, or a client names a place to go.");
  }
  if (uri.size() > kSessionUriBytesMax) {
    return Error(ErrorCode::kTooLarge, "A URI has at most 8,192 bytes.");
  }
  const GoAway message{std::move(uri), timeout_ms, state_.requests.next_peer_id()};
  SendControl(message);
  state_.said_goodbye = true;
  if (timeout_ms > 0) {
    goaway_deadline_ = After(state_.now, timeout_ms);
  }
  return {};
}

Result<void> Session::SendGoAway(RequestId request, std::string uri, uint64_t timeout_ms) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return found->SendGoAway(std::move(uri), timeout_ms);
}

}  // namespace kvcast::moqt
