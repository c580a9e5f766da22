// What a relay knows of others: which namespaces they have tracks below, and what it asked them
// for.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/relay/relay.h"

namespace kvcast::relay {

void Relay::On(Peer& peer, const moqt::PublishNamespaceReceived& event) {
  if (!peer.session->AcceptPublishNamespace(event.request, {}).ok()) {
    return;  // Cancelled just now.
  }
  peer.namespaces[event.request] = event.space;
  std::set<SubscriberId>& owners = announced_[event.space];
  owners.insert({peer.id, event.request});
  if (owners.size() > 1) {
    return;
  }
  for (auto& [id, other] : peers_) {
    for (const auto& [request, prefix] : other.namespace_prefixes) {
      if (prefix.IsPrefixOf(event.space)) {
        (void)other.session->AnnounceNamespace(request, event.space).ok();
        Touch(id);
      }
    }
  }
}

void Relay::Withdraw(Peer& peer, moqt::RequestId request) {
  const auto found = peer.namespaces.find(request);
  if (found == peer.namespaces.end()) {
    return;
  }
  const TrackNamespace space = std::move(found->second);
  peer.namespaces.erase(found);
  const auto owners = announced_.find(space);
  owners->second.erase({peer.id, request});
  if (!owners->second.empty()) {
    return;
  }
  announced_.erase(owners);
  for (auto& [id, other] : peers_) {
    for (const auto& [subscribed, prefix] : other.namespace_prefixes) {
      if (prefix.IsPrefixOf(space)) {
        (void)other.session->WithdrawNamespace(subscribed, space).ok();
        Touch(id);
      }
    }
  }
}

void Relay::On(Peer& peer, const moqt::SubscribeNamespaceReceived& event) {
  const auto below = std::ranges::count_if(
      announced_, [&](const auto& entry) { return event.prefix.IsPrefixOf(entry.first); });
  if (static_cast<size_t>(below) > limits_.prefix_tracks_max) {
    Refuse(peer, event.request, moqt::RequestCode::kNamespaceTooLarge,
           "Too many namespaces are below this prefix.");
    return;
  }
  if (peer.session->AcceptSubscribeNamespace(event.request, {}).ok()) {
    peer.namespace_prefixes[event.request] = event.prefix;
    AnnounceBelow(peer, event.request, event.prefix);
  }
}

void Relay::AnnounceBelow(Peer& peer, moqt::RequestId request, const TrackNamespace& prefix) {
  for (const auto& [space, owners] : announced_) {
    if (prefix.IsPrefixOf(space)) {
      (void)peer.session->AnnounceNamespace(request, space).ok();
    }
  }
}

Peer* Relay::FindPublisher(const TrackNamespace& space) {
  const auto owners = announced_.find(space);
  if (owners == announced_.end()) {
    return nullptr;
  }
  for (const SubscriberId& owner : owners->second) {
    Peer& peer = peers_.at(owner.peer);
    if (!peer.leaving) {
      return &peer;
    }
  }
  return nullptr;
}

// The peer whose namespace is the longest is asked. There may be several; the first that stays is.
bool Relay::AskUpstream(const Peer& peer, const moqt::SubscribeReceived& event) {
  if (published_.contains(event.track) || stock_.catalogs().IsOurs(event.track)) {
    return false;
  }
  const Upstream::Waiting waiting{{peer.id, event.request}, event.parameters};
  if (const auto asked = upstream_.find(event.track); asked != upstream_.end()) {
    asked->second.waiting.push_back(waiting);
    return true;
  }
  const TrackNamespace& space = event.track.space();
  for (size_t fields = space.field_count() + 1; fields-- > 0;) {
    Peer* const found = FindPublisher(space.First(fields));
    if (found == nullptr) {
      continue;
    }
    Peer& publisher = *found;
    moqt::Parameters parameters;
    parameters.filter = moqt::SubscriptionFilter{};
    parameters.new_group_request = event.parameters.new_group_request;
    const Result<moqt::RequestId> request = publisher.session->Subscribe(event.track, parameters);
    if (!request.ok()) {
      return false;
    }
    publisher.upstream.emplace(*request, event.track);
    upstream_.emplace(event.track, Upstream{{publisher.id, *request}, false, false, {waiting}});
    Touch(publisher.id);
    return true;
  }
  return false;
}

void Relay::OnUpstreamAnswer(Peer& peer, const moqt::RequestAccepted& event) {
  const auto found = peer.upstream.find(event.request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = found->second;
  const Result<void> described =
      stock_.Describe(track, event.properties, event.parameters.largest_object);
  if (!described.ok()) {
    peer.session->Cancel(event.request, moqt::ResetCode::kExcessiveLoad);
    OnUpstreamGone(peer, event.request, moqt::RequestCode::kExcessiveLoad,
                   described.error().ToString());
    return;
  }
  upstream_.at(track).established = true;
  metrics_.publications.Add();
  peer.publications.emplace(event.request, Publication(track, event.properties));
  ++published_[track];
  AnswerWaiting(track, moqt::RequestCode::kDoesNotExist, "The track is not here.");
  if (!audience_.Has(track)) {
    LeaveUpstream(track);  // All have left meanwhile.
  }
}

// The request to the peer is over, before it was answered or after.
void Relay::OnUpstreamGone(Peer& peer, moqt::RequestId request, moqt::RequestCode code,
                           const std::string& reason) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = std::move(found->second);
  peer.upstream.erase(found);
  AnswerWaiting(track, code, reason);
  upstream_.erase(track);
}

// From what is here, if anything is.
void Relay::AnswerWaiting(const TrackName& track, moqt::RequestCode code,
                          const std::string& reason) {
  for (const Upstream::Waiting& waiting : std::exchange(upstream_.at(track).waiting, {})) {
    const auto peer = peers_.find(waiting.id.peer);
    if (peer == peers_.end()) {
      continue;
    }
    if (stock_.Find(track) != nullptr) {
      AnswerSubscribe(peer->second, waiting.id.request, track, waiting.parameters);
    } else {
      Refuse(peer->second, waiting.id.request, code, reason);
    }
    Touch(waiting.id.peer);
  }
}

// Messages on two streams overtake each other: who waits goes on waiting, for a while.
void Relay::ExpectPublish(Peer& peer, moqt::RequestId request) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return;
  }
  upstream_.at(found->second).crossed = true;
  if (published_.contains(found->second)) {
    OnExpectedPublish(found->second);
  } else {
    crossing_.insert({now_ + limits_.crossing_patience, peer.id, request});
  }
}

void Relay::OnExpectedPublish(const TrackName& track) {
  const auto found = upstream_.find(track);
  if (found != upstream_.end() && found->second.crossed) {
    const SubscriberId asked = found->second.id;
    OnUpstreamGone(peers_.at(asked.peer), asked.request, moqt::RequestCode::kDoesNotExist,
                   "The track is not here.");
  }
}

void Relay::LeaveUpstream(const TrackName& track) {
  const auto found = upstream_.find(track);
  if (found == upstream_.end() || !found->second.established) {
    return;
  }
  Peer& peer = peers_.at(found->second.id.peer);
  const moqt::RequestId request = found->second.id.request;
  peer.session->Cancel(request, moqt::ResetCode::kCancelled);
  Touch(peer.id);
  EndPublication(peer, peer.publications.find(request));
}

}  // namespace kvcast::relay
