// The user's side of a session: each command finds its request and leaves the rest to it.
#include <utility>

#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/publish_request.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/subscribe_request.h"
#include "kvcast/moqt/subscribe_tracks_request.h"
#include "kvcast/moqt/track_status_request.h"

namespace kvcast::moqt {

template <typename T>
Result<T*> Session::Find(RequestId request) {
  T* found = closed_ ? nullptr : state_.requests.Find<T>(request);
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
  if (closed_ || state_.going_away) {
    return Error(ErrorCode::kInvalid, closed_ ? "The session is closed." : "The peer is leaving.");
  }
  return {};
}

// The stream of a request of ours, for what comes back on it.
Result<RequestId> Session::Opened(Result<RequestId> request) {
  if (request.ok()) {
    const StreamId stream = state_.requests.Find(*request)->stream();
    bidis_.emplace(std::piecewise_construct, std::forward_as_tuple(stream),
                   std::forward_as_tuple(stream, *request, state_));
  }
  return request;
}

Result<void> Session::Done(Result<void> result) {
  Settle();
  return result;
}

Result<RequestId> Session::Publish(const TrackName& track, const Parameters& parameters,
                                   const Properties& properties) {
  KVCAST_TRY_VOID(MayAsk());
  return Opened(OutgoingPublish::Open(state_, track, parameters, properties));
}

Result<RequestId> Session::Subscribe(const TrackName& track, const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk());
  return Opened(OutgoingSubscribe::Open(state_, track, parameters));
}

Result<RequestId> Session::SubscribeTracks(const TrackNamespace& prefix,
                                           const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk());
  return Opened(OutgoingSubscribeTracks::Open(state_, prefix, parameters));
}

Result<RequestId> Session::Fetch(const TrackName& track, const LocationRange& range,
                                 const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk());
  return Opened(OutgoingFetch::Open(state_, track, range, parameters));
}

Result<RequestId> Session::AskTrackStatus(const TrackName& track, const Parameters& parameters) {
  KVCAST_TRY_VOID(MayAsk());
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

Result<void> Session::SendObject(RequestId request, StreamId subgroup, const Object& object) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->Send(subgroup, object);
}

Result<void> Session::EndSubgroup(RequestId request, StreamId subgroup) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->End(subgroup);
}

Result<void> Session::ResetSubgroup(RequestId request, StreamId subgroup, ResetCode code) {
  KVCAST_TRY(TrackSender * sender, FindSender(request));
  return sender->Reset(subgroup, code);
}

Result<void> Session::EndTrack(RequestId request, DoneCode code, std::string reason) {
  KVCAST_TRY(PublisherSide * found, Find<PublisherSide>(request));
  return Done(found->EndTrack(code, std::move(reason)));
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

Result<void> Session::RefuseRequest(RequestId request, const RequestError& error) {
  KVCAST_TRY(Request * found, Find<Request>(request));
  return Done(found->Refuse(error));
}

void Session::Cancel(RequestId request, ResetCode code) {
  if (Request* found = closed_ ? nullptr : state_.requests.Find(request)) {
    found->Cancel(code);
    state_.ended.push_back(request);  // It may have been over before, with something untaken.
    Settle();
  }
}

Result<void> Session::SendGoAway(std::string uri, uint64_t timeout_ms) {
  if (closed_ || state_.refused_from || (state_.role == Role::kClient && !uri.empty())) {
    return Error(ErrorCode::kInvalid, "Goodbye was said, or a client names a place to go.");
  }
  const RequestId from = state_.requests.next_peer_id();
  KVCAST_TRY(Bytes message, state_.codec.Encode(GoAway{std::move(uri), timeout_ms, from}));
  state_.refused_from = from;
  state_.outbox.Do(SendBytes{our_control_, std::move(message), false});
  return {};
}

}  // namespace kvcast::moqt
