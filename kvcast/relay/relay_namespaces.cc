// What a relay knows of others: which namespaces they have tracks below, and what it asked them
// for.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/moqt/timers.h"
#include "kvcast/relay/below.h"
#include "kvcast/relay/refusal.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// Stands for the request by which an upstream tells of namespaces: it may tell of many.
constexpr moqt::RequestId kTold = ~moqt::RequestId{0};

size_t NameBytes(const TrackName& track) { return track.space().length() + track.name().size(); }

}  // namespace

void Relay::On(Peer& peer, const moqt::PublishNamespaceReceived& event) {
  if (!above_->MayBring(peer, event.space)) {
    Refuse(peer, event.request, moqt::RequestCode::kUnauthorized,
           "This upstream is not asked for that.");
    return;
  }
  if (!peer.session->AcceptPublishNamespace(event.request, {}).ok()) {
    return;  // Cancelled just now.
  }
  peer.namespaces[event.request] = event.space;
  std::set<SubscriberId>& owners = announced_[event.space];
  owners.insert({peer.id, event.request});
  if (!peer.route) {
    above_->OfferSpace(event.space);
  }
  AskForWanted(peer, event.space);
  if (owners.size() > 1) {
    return;
  }
  for (const SubscriberId& id : namespace_followers_.Above(event.space)) {
    (void)peers_.at(id.peer).session->AnnounceNamespace(id.request, event.space).ok();
    Touch(id.peer);
  }
}

// What one upstream tells, no other is told: it is not ours to offer.
void Relay::On(Peer& peer, const moqt::NamespaceReceived& event) {
  if (!peer.told_namespaces.insert(event.space).second) {
    return;
  }
  std::set<SubscriberId>& owners = announced_[event.space];
  owners.insert({peer.id, kTold});
  for (const SubscriberId& id : namespace_followers_.Above(event.space)) {
    if (owners.size() == 1 && !peers_.at(id.peer).route) {
      (void)peers_.at(id.peer).session->AnnounceNamespace(id.request, event.space).ok();
      Touch(id.peer);
    }
  }
}

void Relay::On(Peer& peer, const moqt::NamespaceWithdrawn& event) { Unannounce(peer, event.space); }

void Relay::Unannounce(Peer& peer, const TrackNamespace& space) {
  if (const auto told = peer.told_namespaces.extract(space)) {  // `space` may be what stood there.
    EraseOwner(told.value(), {peer.id, kTold});
  }
}

void Relay::Withdraw(Peer& peer, moqt::RequestId request) {
  const auto found = peer.namespaces.find(request);
  if (found == peer.namespaces.end()) {
    return;
  }
  const TrackNamespace space = std::move(found->second);
  peer.namespaces.erase(found);
  EraseOwner(space, {peer.id, request});
}

void Relay::EraseOwner(const TrackNamespace& space, SubscriberId owner) {
  const auto owners = announced_.find(space);
  owners->second.erase(owner);
  if (std::ranges::all_of(owners->second, [this](const SubscriberId& id) {
        return peers_.at(id.peer).route.has_value();
      })) {
    above_->WithdrawSpace(space);
  }
  if (!owners->second.empty()) {
    return;
  }
  announced_.erase(owners);
  for (const SubscriberId& id : namespace_followers_.Above(space)) {
    (void)peers_.at(id.peer).session->WithdrawNamespace(id.request, space).ok();
    Touch(id.peer);
  }
}

bool Relay::HasTooManyNamespaces(const TrackNamespace& prefix) const {
  size_t below = 0;
  VisitBelow(announced_, prefix, [&](const TrackNamespace&, const auto&) {
    return ++below <= limits_.prefix_tracks_max;
  });
  return below > limits_.prefix_tracks_max;
}

void Relay::On(Peer& peer, const moqt::SubscribeNamespaceReceived& event) {
  if (HasTooManyNamespaces(event.prefix)) {
    Refuse(peer, event.request, moqt::RequestCode::kNamespaceTooLarge,
           "Too many namespaces are below this prefix.");
    return;
  }
  if (!above_->Follow(peer, event.request, above_->namespaces, event.prefix)) {
    Refuse(peer, event.request, Overloaded(Above::kNoRoom));
    return;
  }
  if (!peer.session->AcceptSubscribeNamespace(event.request, {}).ok()) {
    above_->Unfollow(peer, event.request);
    return;  // Cancelled just now.
  }
  peer.namespace_prefixes[event.request] = event.prefix;
  namespace_followers_.Add(event.prefix, {peer.id, event.request});
  AnnounceBelow(peer, event.request, event.prefix);
}

void Relay::AnnounceBelow(Peer& peer, moqt::RequestId request, const TrackNamespace& prefix) {
  VisitBelow(announced_, prefix, [&](const TrackNamespace& space, const auto& owners) {
    const bool from_above = std::ranges::all_of(
        owners, [this](const SubscriberId& id) { return peers_.at(id.peer).route.has_value(); });
    if (!(peer.route && from_above)) {
      (void)peer.session->AnnounceNamespace(request, space).ok();
    }
    return true;
  });
}

bool Relay::AwaitUpstream(Peer& peer, const moqt::SubscribeReceived& event) {
  const TrackName& track = event.track;
  const std::optional<TrackFacts> facts = stock_.Find(track);
  const bool ended = facts && facts->end;
  if (ended || published_.contains(track) || stock_.catalogs().IsOurs(track) ||
      stock_.acks().IsAck(track)) {
    return false;
  }
  const moqt::Parameters& parameters = event.parameters;
  const bool rendezvous = !facts && parameters.rendezvous_timeout_ms.value_or(0) > 0;
  const Asking asking = AskAnnouncers(track, parameters.new_group_request, !peer.route);
  if (asking == Asking::kNoRoom && !facts && !rendezvous) {
    Refuse(peer, event.request, Overloaded("Who may have the track cannot be asked just now."));
    return true;
  }
  // Who is above may be asked for it by us, and would wait for its own answer.
  const bool asked = peer.route ? above_->IsAskedBelow(track) : asking == Asking::kAsked;
  // Who is to take the place of an upstream that is leaving is waited for, too.
  const bool moving = !asked && !peer.route && above_->IsMoving(track.space());
  if (!asked && !rendezvous && !moving) {
    return false;
  }
  Upstream::Waiting& waiting = upstream_[track].waiting[{peer.id, event.request}];
  waiting.parameters.filter = parameters.filter;
  waiting.parameters.new_group_request = parameters.new_group_request;
  if (rendezvous) {
    waiting.until = std::min(moqt::After(now_, *parameters.rendezvous_timeout_ms),
                             now_ + limits_.rendezvous_max);
    rendezvous_.insert({*waiting.until, peer.id, event.request});
  } else if (moving) {
    above_->PutOff({peer.id, event.request}, waiting);
  }
  peer.waiting.emplace(event.request, track);
  return true;
}

// Also who asks for it: what a peer publishes it may follow here, as anybody may. Two relays that
// ask each other wait for each other until one gives up, and what comes back from one is known.
Relay::Asking Relay::AskAnnouncers(const TrackName& track, std::optional<uint64_t> new_group,
                                   bool upstream) {
  const TrackNamespace& space = track.space();
  Asking asking = Asking::kNobody;
  for (size_t fields = space.field_count() + 1; fields-- > 0;) {
    const auto owners = announced_.find(space.First(fields));
    if (owners == announced_.end()) {
      continue;
    }
    for (const SubscriberId& owner : owners->second) {
      Peer& peer = peers_.at(owner.peer);
      if (!peer.leaving && !peer.route && !AskPeer(peer, track, new_group)) {
        asking = Asking::kNoRoom;
      }
    }
  }
  if (upstream) {
    above_->AskUpstream(track, new_group);
  }
  return above_->IsAsked(track) ? Asking::kAsked : asking;
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
  // What others want of a peer is on its account: it may be slow, or there for nothing else.
  if (peer.upstream.size() >= limits_.asked_max ||
      peer.upstream_bytes + NameBytes(track) > limits_.asked_bytes) {
    return false;
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
  peer.upstream_bytes += NameBytes(track);
  upstream_[track].asked.emplace(SubscriberId{peer.id, *request},
                                 Upstream::Asked{answer_by, new_group});
  answers_due_.insert({answer_by, peer.id, *request});
  Touch(peer.id);
  return true;
}

// The first that does not fit is the last that is tried, so a peer costs what it may be asked for.
void Relay::AskForWanted(Peer& peer, const TrackNamespace& space) {
  const auto ask = [&](const TrackName& track) {
    // Whoever writes a catalog publishes it. A PUBLISH of another one may be on its way.
    return stock_.catalogs().IsOurs(track) || CatalogTrack::Parse(track).ok() ||
           AskPeer(peer, track, std::nullopt);
  };
  VisitBelow(audience_.tracks(), space,
             [&](const TrackName& track, const auto&) { return ask(track); });
  std::vector<TrackName> waited;  // For asking changes upstream_.
  VisitBelow(upstream_, space, [&](const TrackName& track, const Upstream& upstream) {
    // Who waits for those that were there has its answer from them.
    if (std::ranges::any_of(upstream.waiting,
                            [](const auto& each) { return each.second.until.has_value(); })) {
      waited.push_back(track);
    }
    return waited.size() < limits_.asked_max;
  });
  for (const TrackName& track : waited) {
    if (!ask(track)) {
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
    OnUpstreamGone(peer, event.request, Overloaded(described.error().ToString()));
    return;
  }
  if (event.parameters.largest_object) {
    audience_.OnPublisher(track, *event.parameters.largest_object);
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
  peer.upstream_bytes -= NameBytes(found->second);
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
void Relay::OnUpstreamGone(Peer& peer, moqt::RequestId request,
                           const std::optional<moqt::RequestError>& refusal) {
  const auto found = peer.upstream.find(request);
  if (found == peer.upstream.end()) {
    return;
  }
  const TrackName track = found->second;
  Upstream& asked = upstream_.at(track);
  const bool orphaned = asked.orphaned;
  if (refusal) {
    const moqt::RequestError passed = PassedOn(*refusal, track);
    asked.refusal = asked.refusal ? BetterOf(*asked.refusal, passed) : passed;
  }
  const std::optional<moqt::RequestError> best = asked.refusal;
  if (peer.route && refusal && refusal->code == moqt::RequestCode::kGoingAway) {
    peer.leaving = true;  // As it is about to say, on another stream.
    for (auto& [id, waiting] : asked.waiting) {
      above_->PutOff(id, waiting);
    }
  }
  if (peer.route && (!asked.waiting.empty() || audience_.Has(track))) {
    above_->AskUpstream(track, std::nullopt, &peer);
  }
  (void)ForgetAsked(peer, request);
  const auto upstream = upstream_.find(track);
  if (upstream != upstream_.end() && !upstream->second.asked.empty()) {
    if (!above_->IsAskedBelow(track)) {
      AnswerWaiting(track, best, /*above_only=*/true);
    }
    return;
  }
  if (orphaned && !published_.contains(track)) {
    audience_.EndTrack(track, moqt::DoneCode::kInternalError, "The publisher has left.");
  }
  AnswerWaiting(track, best);
  const auto left = upstream_.find(track);
  if (left != upstream_.end() && left->second.waiting.empty()) {
    upstream_.erase(left);
  } else if (left != upstream_.end()) {
    left->second.refusal.reset();  // Who is asked from now on may say something else.
  }
}

void Relay::OnAnswerOverdue(PeerId id, moqt::RequestId request) {
  Peer& peer = peers_.at(id);
  peer.session->Cancel(request, moqt::ResetCode::kCancelled);
  Touch(id);
  OnUpstreamGone(peer, request,
                 Later(moqt::RequestCode::kTimeout, limits_.retry_after,
                       "The publisher did not answer in time."));
}

// Whoever was refused upstream has no subscription to take part in, whatever is here of the track:
// it would wait for ever. What is here can be fetched. Where those who were asked have left without
// a word, it is as if there had been none.
void Relay::AnswerWaiting(const TrackName& track, const std::optional<moqt::RequestError>& refusal,
                          bool above_only) {
  const auto upstream = upstream_.find(track);
  if (upstream == upstream_.end()) {
    return;
  }
  const bool published = published_.contains(track);
  for (auto& [id, each] : std::exchange(upstream->second.waiting, {})) {
    // Whoever waits for a publisher does so until there is one, or a place to find one, or what it
    // publishes is of no use.
    const bool waits_on = each.until && !published && !(refusal && EndsRendezvous(*refusal));
    if (waits_on || (above_only && !peers_.at(id.peer).route)) {
      upstream->second.waiting.emplace(id, each);
      continue;
    }
    if (each.until) {
      rendezvous_.erase({*each.until, id.peer, id.request});
    }
    Peer& peer = peers_.at(id.peer);
    peer.waiting.erase(id.request);
    if (refusal) {
      Refuse(peer, id.request, *refusal);
    } else {
      AnswerSubscribe(peer, id.request, track, each.parameters);
    }
    Touch(id.peer);
  }
}

// However many may have been asked meanwhile: whoever waits has said for how long.
void Relay::OnRendezvousOver(const Ending& ending) {
  rendezvous_.erase(ending);
  Peer& peer = peers_.at(ending.peer);
  Upstream& upstream = upstream_.at(peer.waiting.at(ending.request));
  upstream.waiting.at({ending.peer, ending.request}).until.reset();
  Refuse(peer, ending.request, moqt::RequestCode::kTimeout,
         "Nobody has published the track in time.");
  StopWaiting(peer, ending.request);
  Touch(ending.peer);
}

void Relay::StopWaiting(Peer& peer, moqt::RequestId request) {
  const auto found = peer.waiting.find(request);
  if (found == peer.waiting.end()) {
    return;
  }
  const TrackName track = std::move(found->second);
  peer.waiting.erase(found);
  const auto waiting = upstream_.at(track).waiting.extract({peer.id, request});
  if (waiting.mapped().until) {
    rendezvous_.erase({*waiting.mapped().until, peer.id, request});
  }
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
  AnswerWaiting(track, std::nullopt);
  const auto upstream = upstream_.find(track);
  if (upstream == upstream_.end()) {
    return;
  }
  upstream->second.orphaned = false;
  upstream->second.refusal.reset();
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
    peer.upstream_bytes -= peer.upstream.erase(id.request) * NameBytes(track);
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
