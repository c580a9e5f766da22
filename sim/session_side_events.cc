// What the other side does, as this one hears of it.
#include "sim/session_side.h"

namespace kvcast::sim {

using moqt::RangeEnd;
using moqt::StreamId;

namespace {

std::string LastOf(const TrackNamespace& space) {
  return std::string(space.field(space.field_count() - 1));
}

}  // namespace

void SessionSide::Got(SessionRequest& request, const moqt::Received& received) {
  if (const auto* object = std::get_if<moqt::ReceivedObject>(&received)) {
    const StreamId stream = request.kind == Kind::kFetch ? 0 : object->stream;
    SessionRequest::Stream& state = request.streams[stream];
    if (state.ended || state.reset) {
      Violate("An object came after the end of its stream.");
    }
    state.items.emplace_back(object->object);
    ++taken_;
  } else if (const auto* range = std::get_if<RangeEnd>(&received)) {
    request.streams[0].items.emplace_back(*range);
  } else if (const auto* end = std::get_if<moqt::SubgroupEnd>(&received)) {
    SessionRequest::Stream& state = request.streams[end->stream];
    (end->complete ? state.ended : state.reset) = true;
  } else if (const auto* fetched = std::get_if<moqt::FetchEnd>(&received)) {
    SessionRequest::Stream& state = request.streams[0];
    (fetched->complete ? state.ended : state.reset) = true;
    request.published = true;
    request.finished = request.accepted;
  } else if (std::get<moqt::TrackEnd>(received).complete) {
    request.finished = true;
  } else {
    request.given_up = true;
  }
}

void SessionSide::OnUpdate(const moqt::UpdateReceived& update) {
  SessionRequest& request = requests_[update.request];
  if (random_->Happens(0.9)) {
    (void)session_.AcceptUpdate(update.request, {}).ok();
  } else if (session_.RefuseUpdate(update.request, {moqt::RequestCode::kInternalError, {}, "", {}})
                 .ok()) {
    request.cancelled_here = request.to_be_taken = true;
  }
}

void SessionSide::TakeEvents() {
  while (const std::optional<moqt::Event> event = session_.NextEvent()) {
    On(*event);
  }
}

void SessionSide::On(const moqt::Event& event) {
  if (closed_) {
    return Violate("Something happened after the end of the session.");
  }
  if (const auto* closed = std::get_if<moqt::SessionClosed>(&event)) {
    closed_ = *closed;
  } else if (!OnRequest(event)) {
    OnAnswer(event);
  }
}

bool SessionSide::OnRequest(const moqt::Event& event) {
  if (const auto* publish = std::get_if<moqt::PublishReceived>(&event)) {
    Begin(publish->request, Kind::kPublish, false, false);
  } else if (const auto* subscribe = std::get_if<moqt::SubscribeReceived>(&event)) {
    Begin(subscribe->request, Kind::kSubscribe, false, true);
  } else if (const auto* fetch = std::get_if<moqt::FetchReceived>(&event)) {
    Begin(fetch->request, Kind::kFetch, false, true).range = fetch->range;
  } else if (const auto* status = std::get_if<moqt::TrackStatusReceived>(&event)) {
    Begin(status->request, Kind::kTrackStatus, false, false);
  } else if (const auto* tracks = std::get_if<moqt::SubscribeTracksReceived>(&event)) {
    Begin(tracks->request, Kind::kSubscribeTracks, false, false);
  } else if (const auto* space = std::get_if<moqt::PublishNamespaceReceived>(&event)) {
    Begin(space->request, Kind::kPublishNamespace, false, false);
  } else if (const auto* spaces = std::get_if<moqt::SubscribeNamespaceReceived>(&event)) {
    Begin(spaces->request, Kind::kSubscribeNamespace, false, false).prefix = spaces->prefix;
  } else {
    return false;
  }
  return true;
}

void SessionSide::OnAnswer(const moqt::Event& event) {
  if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    SessionRequest& request = requests_[accepted->request];
    request.accepted = true;
    request.finished = request.kind == Kind::kTrackStatus;
  } else if (const auto* answered = std::get_if<moqt::FetchAccepted>(&event)) {
    SessionRequest& request = requests_[answered->request];
    request.accepted = true;
    request.finished = request.published;
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    requests_[refused->request].refused = true;
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    SessionRequest& request = requests_[cancelled->request];
    request.cancelled_there = true;
    const bool full = cancelled->code == static_cast<uint64_t>(moqt::ResetCode::kExcessiveLoad);
    put_out_ += full && !request.sends ? 1u : 0u;
  } else if (const auto* done = std::get_if<moqt::PublishDoneReceived>(&event)) {
    requests_[done->request].published = true;
  } else if (const auto* stopped = std::get_if<moqt::SubgroupStopped>(&event)) {
    requests_[stopped->request].streams[stopped->subgroup].reset = true;
    late_ += stopped->timed_out ? 1u : 0u;
  } else if (const auto* update = std::get_if<moqt::UpdateReceived>(&event)) {
    OnUpdate(*update);
  } else if (const auto* changed = std::get_if<moqt::UpdateAccepted>(&event)) {
    --requests_[changed->request].updates;
    ++updated_;
  } else if (const auto* unchanged = std::get_if<moqt::UpdateRefused>(&event)) {
    SessionRequest& request = requests_[unchanged->request];
    --request.updates;
    ++updated_;
    // That ends the request; a publisher says so by PUBLISH_DONE, which is still to come.
    request.cancelled_there = request.kind != Kind::kSubscribe && request.kind != Kind::kPublish;
  } else if (const auto* announced = std::get_if<moqt::NamespaceReceived>(&event)) {
    if (!requests_[announced->request].spaces.insert(LastOf(announced->space)).second) {
      Violate("A namespace is announced that is known.");
    }
  } else if (const auto* withdrawn = std::get_if<moqt::NamespaceWithdrawn>(&event)) {
    if (requests_[withdrawn->request].spaces.erase(LastOf(withdrawn->space)) == 0) {
      Violate("A namespace is withdrawn that is not known.");
    }
  }
}

}  // namespace kvcast::sim
