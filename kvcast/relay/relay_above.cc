// What a relay asks of those upstream, and what it makes of what comes.
#include "kvcast/relay/relay_above.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/relay/canary.h"

namespace kvcast::relay {

Relay::Above::Above(Relay& relay, const Options& options)
    : upstreams(options.upstreams),
      fetches(relay.limits_, relay.metrics_, relay.stock_, relay.log_, SessionsOf(relay),
              [this](PeerId id) { return PeerName(id); }),
      statuses(relay.limits_, SessionsOf(relay)),
      tracks(relay.limits_, upstreams, SessionsOf(relay),
             [](moqt::Session& session, const TrackNamespace& prefix) {
               return session.SubscribeTracks(prefix, {});
             }),
      namespaces(relay.limits_, upstreams, SessionsOf(relay),
                 [](moqt::Session& session, const TrackNamespace& prefix) {
                   return session.SubscribeNamespace(prefix, {});
                 }),
      forgets(options.forgotten),
      relay_(&relay),
      rings_(options.node, options.secret) {
  for (const auto& [tenant, list] : options.forgotten.lists) {
    relay.stock_.catalogs().ListForgotten(*TrackNamespace::Of({kServiceField, tenant}), list);
  }
}

std::function<moqt::Session*(PeerId)> Relay::Above::SessionsOf(Relay& relay) {
  return [&relay](PeerId id) {
    const auto peer = relay.peers_.find(id);
    return peer == relay.peers_.end() ? nullptr : peer->second.session;
  };
}

void Relay::Above::OnConnected(Peer& peer) {
  const std::optional<PeerId> before = upstreams.Connect(*peer.route, peer.id);
  tracks.OnConnected(peer.id, relay_->now_);
  namespaces.OnConnected(peer.id, relay_->now_);
  (void)peer.session->AskTrackStatus(rings_.QuestionFor(peer.id), {}).ok();
  OfferAll(peer);
  relay_->Touch(peer.id);
  if (before) {
    Move(relay_->peers_.at(*before), peer);
  }
}

void Relay::Above::OnPeerGone(Peer& peer) {
  upstreams.Disconnect(peer.id);
  for (const auto& [request, event] : std::exchange(peer.open_fetches, {})) {
    fetches.Leave({peer.id, request});
  }
  for (const moqt::RequestId request : std::exchange(peer.open_statuses, {})) {
    statuses.Leave({peer.id, request});
  }
  for (auto held = held_.lower_bound({peer.id, 0});
       held != held_.end() && held->first.peer == peer.id; held = held_.lower_bound({peer.id, 0})) {
    Release(peer, held->first.request, false);
  }
  fetches.OnPeerGone(peer.id, relay_->now_);
  statuses.OnPeerGone(peer.id, relay_->now_);
  tracks.OnPeerGone(peer.id);
  namespaces.OnPeerGone(peer.id);
  std::erase_if(list_reads_, [&](const auto& each) { return each.second.peer == peer.id; });
  rings_.Forget(peer.id);
  moved_.erase(peer.id);
  offered_.erase(peer.id);
  offer_again_.erase(peer.id);
  std::erase_if(postponed_offers_, [&](const auto& each) { return each.first == peer.id; });
}

bool Relay::Above::OnRefused(Peer& peer, moqt::RequestId request, const moqt::RequestError& error) {
  const Instant now = relay_->now_;
  OnOfferOver(peer, request, error);
  if (tracks.OnOver(peer.id, request, now) || namespaces.OnOver(peer.id, request, now)) {
    relay_->metrics_.upstream.prefixes_refused.Add();
    return true;
  }
  return fetches.OnRefused(peer.id, request, error, now) ||
         statuses.OnRefused(peer.id, request, error, now);
}

void Relay::Above::OnCancelled(Peer& peer, moqt::RequestId request,
                               const moqt::RequestError& error) {
  (void)OnRefused(peer, request, error);
  if (peer.open_fetches.erase(request) > 0) {
    fetches.Leave({peer.id, request});
  }
  if (peer.open_statuses.erase(request) > 0) {
    statuses.Leave({peer.id, request});
  }
  Release(peer, request, false);
}

void Relay::Above::OnTime() {
  const Instant now = relay_->now_;
  fetches.OnTime(now);
  statuses.OnTime(now);
  tracks.OnTime(now);
  namespaces.OnTime(now);
  OfferAgain();
  AskForRings();
}

std::optional<Instant> Relay::Above::deadline() const {
  std::optional<Instant> first;
  if (upstreams.size() > 0) {
    first = ask_for_rings_at_;
  }
  for (const auto& [id, held] : held_) {
    first = first ? std::min(*first, held.first) : held.first;
  }
  std::vector<std::optional<Instant>> others{fetches.deadline(), statuses.deadline(),
                                             tracks.deadline(), namespaces.deadline()};
  for (const auto& [id, read] : list_reads_) {
    others.push_back(read.again_at);
  }
  for (const ToForget& each : to_forget_) {
    others.emplace_back(each.again_at);
  }
  for (const std::map<PeerId, Instant>* const times : {&moved_, &offer_again_}) {
    for (const auto& [id, at] : *times) {
      others.emplace_back(at);
    }
  }
  for (const std::optional<Instant>& other : others) {
    first = other && (!first || *other < *first) ? other : first;
  }
  return first;
}

void Relay::Above::Settle() {
  FillFetches();
  FollowForgotten();
  FillFetches();  // What was forgotten is waited for no more.
  TakeStatuses();
  ReleaseAnswered();
  LeaveUnwanted();
  OfferPostponed();
  LeaveMoved();
}

void Relay::Above::AskForRings() {
  if (upstreams.size() == 0 || relay_->now_ < ask_for_rings_at_) {
    return;
  }
  ask_for_rings_at_ = relay_->now_ + relay_->limits_.ring_interval;
  for (const PeerId id : upstreams.Connected()) {
    (void)relay_->peers_.at(id).session->AskTrackStatus(rings_.QuestionFor(id), {}).ok();
    relay_->Touch(id);
  }
}

// Whoever asks is answered at once, and waits for nobody.
void Relay::Above::OnRingQuestion(Peer& peer, const moqt::TrackStatusReceived& event) {
  relay_->Refuse(peer, event.request, moqt::RequestCode::kDoesNotExist, "There is no such track.");
  const RingWatch::Answer answer = rings_.On(event.track, relay_->now_);
  if (answer.ring) {
    const auto upstream = relay_->peers_.find(*answer.ring);
    if (upstream != relay_->peers_.end() && upstream->second.route) {
      const size_t route = *upstream->second.route;
      relay_->log_.Error("upstream leads back to this node",
                         {{"upstream", upstreams.route(route).name}, {"by_peer", peer.id}});
      found_.push_back(route);
      relay_->RemoveAll(upstream->second);
    }
  }
  for (const PeerId id : upstreams.Connected()) {
    if (answer.pass_on && id != peer.id) {
      (void)relay_->peers_.at(id).session->AskTrackStatus(event.track, {}).ok();
      relay_->Touch(id);
    }
  }
  if (answer.ask) {
    ask_for_rings_at_ = relay_->now_;
    AskForRings();
  }
}

void Relay::Above::LeaveUnwanted() {
  for (const auto& [id, prefix] : tracks.TakeLeft()) {
    const auto peer = relay_->peers_.find(id);
    if (peer == relay_->peers_.end()) {
      continue;
    }
    std::vector<moqt::RequestId> unwanted;
    for (const auto& [request, publication] : peer->second.publications) {
      const TrackName& track = publication.track();
      if (prefix.IsPrefixOf(track.space()) && !tracks.IsWanted(track.space()) &&
          !peer->second.upstream.contains(request) && !relay_->audience_.Has(track)) {
        unwanted.push_back(request);
      }
    }
    for (const moqt::RequestId request : unwanted) {
      peer->second.session->Cancel(request, moqt::ResetCode::kCancelled);
      relay_->EndPublication(peer->second, peer->second.publications.find(request),
                             moqt::DoneCode::kSubscriptionEnded, "Nobody wants it.");
    }
  }
  (void)namespaces.TakeLeft();
  for (FollowedPrefixes* const prefixes : {&tracks, &namespaces}) {
    for (const PeerId id : prefixes->TakeTouched()) {
      relay_->touched_.insert(id);
    }
  }
}

void Relay::Above::AskUpstream(const TrackName& track, std::optional<uint64_t> new_group,
                               const Peer* except) {
  const auto known = relay_->upstream_.find(track);
  std::vector<PeerId> left;
  for (const PeerId id : upstreams.For(track.space())) {
    if (except != nullptr && id == except->id) {
      continue;
    }
    if (known != relay_->upstream_.end()) {
      const auto asked = known->second.asked.lower_bound({id, 0});
      if (asked != known->second.asked.end() && asked->first.peer == id) {
        return;
      }
    }
    if (known == relay_->upstream_.end() || !known->second.tried.contains(id)) {
      left.push_back(id);
    }
  }
  for (const PeerId id : left) {
    if (relay_->AskPeer(relay_->peers_.at(id), track, new_group)) {
      if (const auto asked = relay_->upstream_.find(track); asked != relay_->upstream_.end()) {
        asked->second.tried.insert(id);
      }
      return;
    }
  }
}

void Relay::Above::TakeStatuses() {
  for (const UpstreamStatus& outcome : statuses.TakeOutcomes()) {
    for (const SubscriberId& id : outcome.askers) {
      const auto peer = relay_->peers_.find(id.peer);
      if (peer != relay_->peers_.end() && peer->second.open_statuses.erase(id.request) > 0) {
        relay_->AnswerStatus(peer->second, id.request, outcome.track, outcome);
        relay_->touched_.insert(id.peer);
      }
    }
  }
  for (const PeerId id : statuses.TakeTouched()) {
    relay_->touched_.insert(id);
  }
}

// Where a track ends is known here if it has ended, or is published to us; else somebody upstream
// may know of more than we do.
Relay::End Relay::Above::AwaitEnd(Peer& peer, const moqt::FetchReceived& event) {
  const TrackName& track = event.track;
  const std::optional<TrackFacts> facts = relay_->stock_.Find(track);
  if ((facts && facts->end) || relay_->published_.contains(track) ||
      relay_->stock_.catalogs().IsOurs(track) || relay_->stock_.acks().IsAck(track)) {
    return End::kKnown;
  }
  std::optional<Location> largest = facts ? facts->largest : std::nullopt;
  if (const std::optional<moqt::FetchOk> told = fetches.LastTold(track)) {
    largest = std::max(largest, std::optional(told->last));
  }
  LocationRange beyond = event.range;
  if (largest && beyond.first <= *largest) {
    if (beyond.last <= *largest) {
      return End::kKnown;
    }
    beyond.first = After(*largest);
    if (relay_->stock_.IsGone(track, beyond)) {
      return End::kKnown;
    }
  }
  // What is said of the end of a range alone says nothing of its beginning, which may be on its
  // way.
  const moqt::GroupOrder order =
      fetches.Has(track) ? moqt::GroupOrder::kAscending
                         : event.parameters.group_order.value_or(moqt::GroupOrder::kAscending);
  UpstreamFetches::Wish wish{
      track,       beyond, order, SourcesOf(peer, track), event.parameters.subscriber_priority,
      std::nullopt};
  if (event.parameters.fill_timeout_ms) {
    wish.patience =
        std::chrono::milliseconds(std::min<uint64_t>(*event.parameters.fill_timeout_ms, 3'600'000));
  }
  if (wish.sources.empty() || wish.patience == Duration::zero() ||
      !fetches.Ask({peer.id, event.request}, wish, relay_->now_)) {
    return !peer.route && upstreams.Covers(track.space()) ? End::kOutOfReach : End::kKnown;
  }
  peer.open_fetches.insert_or_assign(event.request, event);
  return End::kToCome;
}

bool Relay::Above::IsNothingBeyond(const moqt::FetchReceived& event, Location largest) const {
  const std::optional<TrackFacts> facts = relay_->stock_.Find(event.track);
  return upstreams.Covers(event.track.space()) && facts && !facts->end &&
         relay_->stock_.IsGone(event.track, {After(largest), event.range.last});
}

bool Relay::Above::AskFor(Peer& peer, moqt::RequestId request, FetchAnswer& fetch) {
  const SubscriberId id{peer.id, request};
  FetchCursor& cursor = fetch.cursor();
  if (!cursor.hole()) {
    fetches.OnProgress(id, cursor.at());
    return true;  // A tier is to read something.
  }
  if (cursor.patience() == Duration::zero()) {
    cursor.GiveUp();
    return false;
  }
  UpstreamFetches::Wish wish{cursor.track(), *cursor.hole(),
                             cursor.order(), SourcesOf(peer, cursor.track()),
                             std::nullopt,   cursor.patience()};
  // Who does not answer is waited for once, however much a fetch lacks.
  std::erase_if(wish.sources, [&](PeerId source) { return fetch.IsSilent(source); });
  if (fetches.Ask(id, wish, relay_->now_)) {
    return true;
  }
  cursor.Settle(EndOf(wish.range, wish.order), false, relay_->stock_.store(), relay_->now_);
  return false;
}

FetchAnswer* Relay::Above::FindFetch(const SubscriberId& id) {
  const auto peer = relay_->peers_.find(id.peer);
  if (peer == relay_->peers_.end()) {
    return nullptr;
  }
  const auto fetch = peer->second.fetches.find(id.request);
  return fetch == peer->second.fetches.end() ? nullptr : &fetch->second;
}

template <>
void Relay::Above::Act(const UpstreamFetches::Answered& outcome) {
  const auto peer = relay_->peers_.find(outcome.asker.peer);
  if (peer == relay_->peers_.end()) {
    return;
  }
  const auto open = peer->second.open_fetches.extract(outcome.asker.request);
  if (!open) {
    return;
  }
  const End end = outcome.exact ? End::kKnown : AwaitEnd(peer->second, open.mapped());
  if (end != End::kToCome) {
    relay_->AnswerFetch(peer->second, open.mapped(), end);
    relay_->Touch(peer->first);
  }
}

template <>
void Relay::Above::Act(const UpstreamFetches::Came& outcome) {
  FetchAnswer* const fetch = FindFetch(outcome.asker);
  if (fetch != nullptr && fetch->cursor().Fill(outcome.object, relay_->stock_.store())) {
    relay_->Continue(relay_->peers_.at(outcome.asker.peer), outcome.asker.request);
  }
}

template <>
void Relay::Above::Act(const UpstreamFetches::Settled& outcome) {
  if (FetchAnswer* const fetch = FindFetch(outcome.asker)) {
    fetch->NoteUpstreams(outcome.trials);
    fetch->cursor().Settle(outcome.through, outcome.nothing, relay_->stock_.store(), relay_->now_);
    relay_->Continue(relay_->peers_.at(outcome.asker.peer), outcome.asker.request);
  }
}

template <>
void Relay::Above::Act(const UpstreamFetches::Failed& outcome) {
  const auto peer = relay_->peers_.find(outcome.asker.peer);
  if (peer == relay_->peers_.end()) {
    return;
  }
  if (FetchAnswer* const fetch = FindFetch(outcome.asker)) {
    FetchCursor& cursor = fetch->cursor();
    fetch->NoteUpstreams(outcome.trials);
    // Who does not answer is waited for once, however much a fetch lacks.
    if (outcome.error.code == moqt::RequestCode::kTimeout) {
      cursor.GiveUp();
    } else if (cursor.hole()) {
      cursor.Settle(EndOf(*cursor.hole(), cursor.order()), false, relay_->stock_.store(),
                    relay_->now_);
    }
    relay_->Continue(peer->second, outcome.asker.request);
  }
  const auto open = peer->second.open_fetches.extract(outcome.asker.request);
  if (!open) {
    return;
  }
  const bool told = outcome.error.code == moqt::RequestCode::kInvalidRange ||
                    outcome.error.code == moqt::RequestCode::kDoesNotExist;
  if (relay_->stock_.Find(open.mapped().track) &&
      outcome.error.code != moqt::RequestCode::kMalformedTrack) {
    relay_->AnswerFetch(peer->second, open.mapped(), told ? End::kKnown : End::kOutOfReach);
  } else {
    relay_->NoteMiss({.at = relay_->now_,
                      .peer = peer->first,
                      .track = open.mapped().track,
                      .range = open.mapped().range,
                      .reason = Miss::Reason::kNoTrack,
                      .upstreams = outcome.trials});
    relay_->Refuse(peer->second, outcome.asker.request, outcome.error);
  }
  relay_->Touch(peer->first);
}

template <>
void Relay::Above::Act(const UpstreamFetches::Silent& outcome) {
  if (FetchAnswer* const fetch = FindFetch(outcome.asker)) {
    fetch->NoteSilent(outcome.peer);
  }
}

template <>
void Relay::Above::Act(const UpstreamFetches::Kept& outcome) {
  if (relay_->published_.contains(outcome.track) && relay_->audience_.Has(outcome.track)) {
    early.Add(outcome.track, outcome.location);
  }
}

template <>
void Relay::Above::Act(const UpstreamFetches::Contradicted& outcome) {
  relay_->log_.Warning("upstream contradicts what is here",
                       {{"peer", outcome.peer}, {"reason", outcome.reason}});
  relay_->OnMalformed(outcome.track, "What came from upstream contradicts what stood there.");
}

void Relay::Above::FillFetches() {
  while (true) {
    const std::vector<UpstreamFetches::Outcome> outcomes = fetches.TakeOutcomes();
    for (const UpstreamFetches::Outcome& outcome : outcomes) {
      if (!TakeForgetList(outcome)) {
        std::visit([this](const auto& any) { Act(any); }, outcome);
      }
    }
    if (outcomes.empty() && !fetches.TakeOne(relay_->now_)) {
      break;
    }
  }
  for (const PeerId id : fetches.TakeTouched()) {
    relay_->touched_.insert(id);
  }
}

}  // namespace kvcast::relay
