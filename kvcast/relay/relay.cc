#include "kvcast/relay/relay.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace kvcast::relay {

Relay::Relay(const Options& options, Metrics& metrics, LogSink* log)
    : limits_(options.limits),
      metrics_(metrics),
      log_(log, "relay"),
      stock_(options.ram_bytes, options.node, options.boot, limits_, metrics_, log_),
      audience_(limits_, metrics_) {}

PeerId Relay::Join(moqt::Session& session) {
  const PeerId id = next_peer_++;
  Peer& peer = peers_[id];
  peer.id = id;
  peer.session = &session;
  metrics_.peers.Add(1);
  return id;
}

void Relay::Leave(PeerId id) {
  const auto peer = peers_.find(id);
  if (peer == peers_.end()) {
    return;
  }
  RemoveAll(peer->second);
  peers_.erase(peer);
  metrics_.peers.Add(-1);
  Settle();
}

void Relay::OnInput(PeerId id, Instant now) {
  now_ = std::max(now_, now);
  stock_.Expire(now_);
  if (peers_.contains(id)) {
    Touch(id);
    Settle();
  }
}

void Relay::OnTimeout(Instant now) {
  now_ = std::max(now_, now);
  stock_.Expire(now_);
  while (!ending_.empty() && ending_.begin()->at <= now) {
    Peer& peer = peers_.at(ending_.begin()->peer);
    const auto publication = peer.publications.find(ending_.begin()->request);
    peer.session->Cancel(publication->first, moqt::ResetCode::kCancelled);
    Touch(peer.id);
    publication->second.OnGivenUp();
    OnTrackEnd(peer, publication, moqt::TrackEnd{*publication->second.done()});
  }
  while (!answers_due_.empty() && answers_due_.begin()->at <= now) {
    OnAnswerOverdue(answers_due_.begin()->peer, answers_due_.begin()->request);
  }
  Settle();
}

std::optional<Instant> Relay::deadline() const {
  std::optional<Instant> first = stock_.next_expiry();
  for (const std::set<Ending>* endings : {&ending_, &answers_due_}) {
    if (!endings->empty() && (!first || endings->begin()->at < *first)) {
      first = endings->begin()->at;
    }
  }
  return first;
}

std::vector<PeerId> Relay::TakeTouched() {
  const std::set<PeerId> touched = std::exchange(touched_, {});
  std::vector<PeerId> here;
  std::ranges::copy_if(touched, std::back_inserter(here),
                       [this](PeerId id) { return peers_.contains(id); });
  return here;
}

void Relay::Touch(PeerId peer) {
  touched_.insert(peer);
  to_drain_.insert(peer);
}

void Relay::Settle() {
  do {
    for (const PeerId id : std::exchange(to_drain_, {})) {
      if (const auto peer = peers_.find(id); peer != peers_.end()) {
        Drain(peer->second);
      }
    }
    for (const CatalogChange& change : stock_.Settle()) {
      if (change.ended_epoch) {
        audience_.EndSubgroup(change.track, *change.ended_epoch, 0, true);
      }
      for (const Object& object : change.objects) {
        const uint64_t id = object.location.object;
        audience_.Forward(change.track, {object, id == 0 ? std::nullopt : std::optional(id - 1),
                                         id == 0, true, now_});
      }
      if (change.is_new) {
        Announce(change.track, nullptr);
      }
    }
    for (const TrackName& track : stock_.TakeEmptied()) {
      ForgetIfUnused(track);
    }
    for (const TrackName& track : audience_.TakeDeserted()) {
      if (!audience_.Has(track)) {
        LeaveUpstream(track);
        ForgetIfUnused(track);
      }
    }
    for (const PeerId id : audience_.TakeTouched()) {
      Touch(id);
    }
  } while (!to_drain_.empty());
}

void Relay::Drain(Peer& peer) {
  while (const std::optional<moqt::Event> event = peer.session->NextEvent()) {
    std::visit([&](const auto& any) { On(peer, any); }, *event);
  }
  ContinueCrowded(peer);
}

// Of one request: the peer ends it when it likes, and until then it goes on.
void Relay::On(Peer& peer, const moqt::GoAwayReceived& event) {
  if (!event.request) {
    log_.Info("peer is leaving", {{"peer", peer.id}, {"timeout_ms", event.message.timeout_ms}});
    peer.leaving = true;
  }
}

void Relay::On(Peer& peer, const moqt::SessionClosed& event) {
  log_.Info("session closed", {{"peer", peer.id}, {"code", event.code}, {"reason", event.reason}});
  RemoveAll(peer);
}

void Relay::RemoveAll(Peer& peer) {
  // In this order: it is neither asked for what it leaves behind, nor told that it has gone.
  while (!peer.namespaces.empty()) {
    Withdraw(peer, peer.namespaces.begin()->first);
  }
  while (!peer.waiting.empty()) {
    StopWaiting(peer, peer.waiting.begin()->first);
  }
  audience_.RemovePeer(peer.id);
  while (!peer.publications.empty()) {
    EndPublication(peer, peer.publications.begin(), moqt::DoneCode::kInternalError,
                   "The publisher has left.");
  }
  while (!peer.upstream.empty()) {
    OnUpstreamGone(peer, peer.upstream.begin()->first, moqt::RequestCode::kDoesNotExist,
                   "The publisher has left.");
  }
  peer.fetches.clear();
  peer.crowded.clear();
  peer.prefixes.clear();
  peer.namespace_prefixes.clear();
}

void Relay::On(Peer& peer, const moqt::RequestAccepted& event) {
  OnUpstreamAnswer(peer, event);
  if (Subscription* subscription = audience_.Find({peer.id, event.request})) {
    const TrackName& track = *audience_.TrackOf({peer.id, event.request});
    const TrackFacts* facts = stock_.Find(track);
    subscription->Update(event.parameters, facts == nullptr ? std::nullopt : facts->largest);
    if (event.parameters.new_group_request) {
      AskForNewGroup(track, *event.parameters.new_group_request);
    }
  }
}

void Relay::On(Peer& peer, const moqt::RequestRefused& event) {
  if (event.error.code == moqt::RequestCode::kDuplicateSubscription) {
    ExpectPublish(peer, event.request);
    audience_.Remove({peer.id, event.request});
    return;
  }
  OnUpstreamGone(peer, event.request,
                 event.error.code == moqt::RequestCode::kRedirect ? moqt::RequestCode::kDoesNotExist
                                                                  : event.error.code,
                 event.error.reason);
  audience_.Remove({peer.id, event.request});
}

void Relay::On(Peer& peer, const moqt::RequestCancelled& event) {
  const auto publication = peer.publications.find(event.request);
  if (publication != peer.publications.end()) {
    log_.Info("publication broken off", {{"peer", peer.id}, {"reason", event.reason}});
    peer.session->Cancel(event.request, moqt::ResetCode::kCancelled);  // What nobody took.
    if (event.code == static_cast<uint64_t>(moqt::ResetCode::kMalformedTrack)) {
      OnMalformed(publication->second.track(), event.reason);
    }
    EndPublication(peer, publication, moqt::DoneCode::kInternalError,
                   "The publisher has broken it off.");
  }
  OnUpstreamGone(peer, event.request, moqt::RequestCode::kInternalError, event.reason);
  Withdraw(peer, event.request);
  StopWaiting(peer, event.request);
  peer.fetches.erase(event.request);
  peer.crowded.erase(event.request);
  peer.prefixes.erase(event.request);
  peer.namespace_prefixes.erase(event.request);
  audience_.Remove({peer.id, event.request});
}

void Relay::On(Peer& peer, const moqt::SubgroupStopped& event) {
  if (Subscription* subscription = audience_.Find({peer.id, event.request})) {
    subscription->OnStopped(event.subgroup);
  }
}

void Relay::On(Peer& peer, const moqt::SendRoom& event) { Continue(peer, event.request); }

void Relay::Continue(Peer& peer, moqt::RequestId request) {
  const auto fetch = peer.fetches.find(request);
  if (fetch == peer.fetches.end()) {
    return;
  }
  touched_.insert(peer.id);
  switch (fetch->second.Continue(stock_.tier(), limits_.fetch_queue_bytes, metrics_)) {
    case FetchAnswer::State::kAhead:
      break;
    case FetchAnswer::State::kCrowded:
      peer.crowded.insert(request);
      break;
    case FetchAnswer::State::kDone:
      peer.fetches.erase(fetch);
      break;
  }
}

void Relay::ContinueCrowded(Peer& peer) {
  if (peer.crowded.empty() || peer.session->queued_bytes() > limits_.fetch_queue_bytes / 2) {
    return;
  }
  for (const moqt::RequestId request : std::exchange(peer.crowded, {})) {
    Continue(peer, request);
  }
}

}  // namespace kvcast::relay
