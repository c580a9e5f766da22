// What a relay knows of others: which namespaces they have tracks below, and what it asked them
// for.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/relay/relay.h"

namespace kvcast::relay {
namespace {

// A publisher's refusal, to those behind us. A redirect that leads to another track leads there
// from here as well, since whoever follows it asks us. One that leads nowhere else is of no use.
moqt::RequestError PassedOn(const moqt::RequestError& refusal, const TrackName& asked) {
  moqt::RequestError error = refusal;
  const std::optional<moqt::Redirect>& to = error.redirect;
  const bool elsewhere =
      to && (!to->uri.empty() || (to->track != asked && to->track != moqt::Redirect().track));
  if (error.code == moqt::RequestCode::kRedirect && !elsewhere) {
    error.code = moqt::RequestCode::kDoesNotExist;
    error.redirect.reset();
  }
  return error;
}

}  // namespace

void Relay::On(Peer& peer, const moqt::PublishNamespaceReceived& event) {
  if (!peer.session->AcceptPublishNamespace(event.request, {}).ok()) {
    return;  // Cancelled just now.
  }
  peer.namespaces[event.request] = event.space;
  std::set<SubscriberId>& owners = announced_[event.space];
  owners.insert({peer.id, event.request});
  AskForWanted(peer, event.space);
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

bool Relay::AskUpstream(Peer& peer, const moqt::SubscribeReceived& event) {
  const TrackName& track = event.track;
  const std::optional<TrackFacts> facts = stock_.Find(track);
  const bool ended = facts && facts->end;
  if (ended || published_.contains(track) || stock_.catalogs().IsOurs(track) ||
      stock_.acks().IsAck(track) || !AskAnnouncers(track, event.parameters.new_group_request)) {
    return false;
  }
  moqt::Parameters& kept = upstream_.at(track).waiting[{peer.id, event.request}];
  kept.filter = event.parameters.filter;
  kept.new_group_request = event.parameters.new_group_request;
  peer.waiting.emplace(event.request, track);
  return true;
}

bool Relay::AskAnnouncers(const TrackName& track, std::optional<uint64_t> new_group) {
  const TrackNamespace& space = track.space();
  for (size_t fields = space.field_count() + 1; fields-- > 0;) {
    const auto owners = announced_.find(space.First(fields));
    if (owners == announced_.end()) {
      continue;
    }
    for (const SubscriberId& owner : owners->second) {
      (void)AskPeer(peers_.at(owner.peer), track, new_group);
    }
  }
  return upstream_.contains(track);
}

bool Relay::AskPeer(Peer& peer, const TrackName& track, std::optional<uint64_t> new_group) {
  if (peer.leaving) {
    return false;
  }
  const auto known = upstream_.find(track);
  if (known != upstream_.end()) {
    const auto asked = known->second.asked.lower_bound({peer.id, 0});
    if (asked != known->second.asked.end() && asked->first.peer == peer.id) {
      return true;
    }
  }
  if (Publishes(peer, track)) {
    return true;
  }
  moqt::Parameters parameters;
  parameters.filter = moqt::SubscriptionFilter{};
  parameters.new_group_request = new_group;
  const Result<moqt::RequestId> request = peer.session->Subscribe(track, parameters);
  if (!request.ok()) {
    return false;
  }
  const Instant answer_by = now_ + limits_.answer_patience;
  peer.upstream.emplace(*request, track);
  upstream_[track].asked.emplace(SubscriberId{peer.id, *request},
                                 Upstream::Asked{answer_by, new_group});
  answers_due_.insert({answer_by, peer.id, *request});
  Touch(peer.id);
  return true;
}

void Relay::AskForWanted(Peer& peer, const TrackNamespace& space) {
  const std::vector<TrackName> followed = audience_.TracksBelow(space);
  std::set<TrackName> wanted(followed.begin(), followed.end());
  for (const auto& [track, upstream] : upstream_) {
    if (!upstream.waiting.empty() && space.IsPrefixOf(track.space())) {
      wanted.insert(track);
    }
  }
  for (const TrackName& track : wanted) {
    if (!stock_.catalogs().IsOurs(track) && !AskPeer(peer, track, std::nullopt)) {
      return;
    }
  }
}

void Relay::OnUpstreamAnswer(Peer& peer, const moqt::RequestAccepted& event) {
  const auto found = peer.upstream.find(event.request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = found->second;
  const Result<void> described = stock_.Describe(
      track, event.properties, event.parameters.largest_object, Durability::kMemory, now_);
  if (!described.ok()) {
    peer.session->Cancel(event.request, moqt::ResetCode::kExcessiveLoad);
    OnUpstreamGone(peer, event.request,
                   Because(moqt::RequestCode::kExcessiveLoad, described.error().ToString()));
    return;
  }
  Upstream& upstream = upstream_.at(track);
  Upstream::Asked& asked = upstream.asked.at({peer.id, event.request});
  answers_due_.erase({asked.answer_by, peer.id, event.request});
  asked.established = true;
  upstream.orphaned = false;
  metrics_.publications.Add();
  Publication publication(track, event.properties);
  if (asked.new_group) {
    const TrackFacts facts = *stock_.Find(track);
    publication.OnNewGroupAsked(*asked.new_group,
                                facts.largest ? std::optional(facts.largest->group) : std::nullopt);
  }
  peer.publications.emplace(event.request, std::move(publication));
  published_[track].insert({peer.id, event.request});
  OnPublished(track);
  LeaveUpstream(track);  // All may have left meanwhile.
}

bool Relay::ForgetAsked(Peer& peer, moqt::RequestId request) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return false;
  }
  const auto upstream = upstream_.find(found->second);
  peer.upstream.erase(found);
  const auto asked = upstream->second.asked.find({peer.id, request});
  answers_due_.erase({asked->second.answer_by, peer.id, request});
  upstream->second.asked.erase(asked);
  if (upstream->second.asked.empty() && upstream->second.waiting.empty()) {
    upstream_.erase(upstream);
  }
  return true;
}

// The request to the peer is over, before it was answered. Another may still have the track.
void Relay::OnUpstreamGone(Peer& peer, moqt::RequestId request, const moqt::RequestError& why) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = found->second;
  const bool orphaned = upstream_.at(track).orphaned;
  (void)ForgetAsked(peer, request);
  const auto upstream = upstream_.find(track);
  if (upstream != upstream_.end() && !upstream->second.asked.empty()) {
    return;
  }
  if (orphaned && !published_.contains(track)) {
    audience_.EndTrack(track, moqt::DoneCode::kInternalError, "The publisher has left.");
  }
  AnswerWaiting(track, PassedOn(why, track));
  upstream_.erase(track);
}

void Relay::OnAnswerOverdue(PeerId id, moqt::RequestId request) {
  Peer& peer = peers_.at(id);
  peer.session->Cancel(request, moqt::ResetCode::kCancelled);
  Touch(id);
  OnUpstreamGone(peer, request,
                 Because(moqt::RequestCode::kTimeout, "The publisher did not answer in time."));
}

// From what is here, if anything is.
void Relay::AnswerWaiting(const TrackName& track, const moqt::RequestError& error) {
  const auto upstream = upstream_.find(track);
  if (upstream == upstream_.end()) {
    return;
  }
  for (const auto& [id, parameters] : std::exchange(upstream->second.waiting, {})) {
    Peer& peer = peers_.at(id.peer);
    peer.waiting.erase(id.request);
    if (stock_.Find(track)) {
      AnswerSubscribe(peer, id.request, track, parameters);
    } else {
      Refuse(peer, id.request, error);
    }
    Touch(id.peer);
  }
}

void Relay::StopWaiting(Peer& peer, moqt::RequestId request) {
  const auto found = peer.waiting.find(request);
  if (found == peer.waiting.end()) {
    return;
  }
  const TrackName track = std::move(found->second);
  peer.waiting.erase(found);
  upstream_.at(track).waiting.erase({peer.id, request});
  LeaveUpstream(track);
}

// Messages on two streams overtake each other: who waits goes on waiting, for a while.
void Relay::ExpectPublish(Peer& peer, moqt::RequestId request) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = found->second;
  Upstream::Asked& asked = upstream_.at(track).asked.at({peer.id, request});
  answers_due_.erase({asked.answer_by, peer.id, request});
  asked.crossed = true;
  asked.answer_by = now_ + limits_.crossing_patience;
  answers_due_.insert({asked.answer_by, peer.id, request});
  if (published_.contains(track)) {
    OnPublished(track);
  }
}

// Who waits for the track waits no longer, nor does anyone for a PUBLISH of it.
void Relay::OnPublished(const TrackName& track) {
  AnswerWaiting(track, Because(moqt::RequestCode::kDoesNotExist, "The track is not here."));
  const auto upstream = upstream_.find(track);
  if (upstream == upstream_.end()) {
    return;
  }
  upstream->second.orphaned = false;
  std::vector<SubscriberId> crossed;
  for (const auto& [id, asked] : upstream->second.asked) {
    if (asked.crossed) {
      crossed.push_back(id);
    }
  }
  for (const SubscriberId& id : crossed) {
    (void)ForgetAsked(peers_.at(id.peer), id.request);
  }
}

void Relay::LeaveUpstream(const TrackName& track) {
  const auto found = upstream_.find(track);
  if (found == upstream_.end() || !found->second.waiting.empty() || audience_.Has(track)) {
    return;
  }
  const std::map<SubscriberId, Upstream::Asked> asked = std::exchange(found->second.asked, {});
  upstream_.erase(found);
  for (const auto& [id, state] : asked) {
    Peer& peer = peers_.at(id.peer);
    peer.upstream.erase(id.request);
    answers_due_.erase({state.answer_by, id.peer, id.request});
    peer.session->Cancel(id.request, moqt::ResetCode::kCancelled);
    Touch(id.peer);
    if (state.established) {
      EndPublication(peer, peer.publications.find(id.request), moqt::DoneCode::kSubscriptionEnded,
                     "Nobody follows it.");
    }
  }
}

}  // namespace kvcast::relay
