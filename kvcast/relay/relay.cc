#include "kvcast/relay/relay.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "kvcast/base/planted.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// Of which it can be told why. A name has four kilobytes at most.
constexpr size_t kMissesKept = 128;
// Of memory, for what fetches are about to be sent: whoever publishes must find room.
constexpr unsigned kPinnedPercent = 12;

StoreOptions StoreOptionsOf(const Relay::Options& options) {
  StoreOptions store;
  store.ram_bytes = options.ram_bytes;
  store.eviction = options.eviction;
  store.reservations = options.reservations;
  store.payload_chunks = options.payload_chunks;
  store.pinned_percent = kPinnedPercent;
  store.epoch_us = options.epoch_us;
  store.key_property = kBlockKeyProperty;
  store.secret = options.secret;
  store.reads = options.reads;
  store.warming = options.warming;
  store.demoting_bytes_max = options.demoting_bytes_max;
  store.max_cache_ms = &Publication::MaxCacheOf;
  return store;
}

}  // namespace

Relay::Relay(const Options& options, Metrics& metrics, LogSink* log)
    : limits_(options.limits),
      metrics_(metrics),
      log_(log, "relay"),
      gate_(*this, options.access, options.ram_bytes),
      stock_(StoreOptionsOf(options), options.node, options.boot, limits_, metrics_, log_),
      audience_(limits_, gate_.shares(), metrics_),
      misses_(kMissesKept),
      owns_(options.owns),
      above_(std::make_unique<Above>(*this, options)) {}

Relay::~Relay() = default;

void Relay::SetLimits(const Limits& limits) {
  limits_ = limits;
  gate_.OnLimits();
}

PeerId Relay::JoinUpstream(moqt::Session& session, size_t upstream) {
  const PeerId id = Join(session);
  peers_.at(id).route = upstream;
  return id;
}

std::vector<size_t> Relay::TakeRings() { return above_->TakeRings(); }

PeerId Relay::Join(moqt::Session& session, Credential credential, bool guest) {
  const PeerId id = next_peer_++;
  Peer& peer = peers_[id];
  peer.id = id;
  peer.session = &session;
  peer.credential = std::move(credential);
  peer.guest = guest;
  gate_.OnJoined(peer);
  metrics_.peers.Add(guest ? 0 : 1);
  return id;
}

void Relay::Leave(PeerId id) {
  const auto peer = peers_.find(id);
  if (peer == peers_.end()) {
    return;
  }
  RemoveAll(peer->second);
  gate_.OnLeft(peer->second);
  metrics_.peers.Add(peer->second.guest ? 0 : -1);
  peers_.erase(peer);
  Settle();
}

PeerId Relay::JoinUncounted(moqt::Session& session, Instant now) {
  OnTimeout(now);  // What others have done is counted before.
  metrics_.Mute(true);
  const PeerId id = Join(session);
  peers_.at(id).uncounted = true;
  return id;
}

void Relay::LeaveUncounted(PeerId peer, const TrackName& track) {
  Leave(peer);
  stock_.Discard(track, now_);
  Settle();
  metrics_.Mute(false);
}

void Relay::OnInput(PeerId id, Instant now) {
  now_ = std::max(now_, now);
  stock_.OnInput(now_);
  if (peers_.contains(id)) {
    Touch(id);
    Settle();
  }
}

void Relay::OnTimeout(Instant now) {
  now_ = std::max(now_, now);
  stock_.OnTime(now_);
  ForgetAcks();
  while (!answers_due_.empty() && answers_due_.begin()->at <= now) {
    OnAnswerOverdue(answers_due_.begin()->peer, answers_due_.begin()->request);
  }
  while (!rendezvous_.empty() && rendezvous_.begin()->at <= now) {
    OnRendezvousOver(Ending(*rendezvous_.begin()));
  }
  gate_.OnTime();
  above_->OnTime();
  Settle();
}

std::optional<Instant> Relay::deadline() const {
  std::optional<Instant> first = stock_.deadline();
  for (const std::optional<Instant> other :
       {audience_.deadline(), gate_.deadline(), above_->deadline()}) {
    first = other && (!first || *other < *first) ? other : first;
  }
  for (const std::set<Ending>* endings : {&answers_due_, &rendezvous_}) {
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
    above_->Settle();
    TakeReads();
    ContinueHeld();
    TakeAcks();
    gate_.CountReceived();
    for (const CatalogChange& change : stock_.Settle(now_)) {
      if (change.is_over) {
        above_->EndCatalog(change.track);
      }
      if (change.ended_epoch) {
        audience_.EndSubgroup(change.track, *change.ended_epoch, 0, true, now_);
      }
      for (const Object& object : change.objects) {
        const uint64_t id = object.location.object;
        audience_.Forward(
            change.track,
            {object, id == 0 ? std::nullopt : std::optional(id - 1), id == 0, true, now_}, now_);
      }
      if (change.is_new) {
        Announce(change.track, nullptr);
      }
    }
    EndRanges();
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
    gate_.WakeStarved();
  } while (!to_drain_.empty());
  gate_.Settle();
}

void Relay::Drain(Peer& peer) {
  while (std::optional<moqt::Event> event = peer.session->NextEvent()) {
    if (gate_.Admit(peer, *event)) {
      std::visit([&](const auto& any) { On(peer, any); }, *event);
    }
  }
  gate_.Recount(peer);
  ContinueCrowded(peer);
  PublishPostponed(peer);
}

void Relay::On(Peer& peer, const moqt::SetupDone& event) {
  gate_.OnSetup(peer, event.peer);
  if (peer.route) {
    above_->OnConnected(peer);
  }
}

void Relay::On(Peer& peer, const moqt::FetchAccepted& event) {
  (void)above_->fetches.OnAccepted(peer.id, event, now_);
}

void Relay::On(Peer& peer, const moqt::PublishBlockedReceived& event) {
  if (above_->tracks.OnBlocked(peer.id, event.request, now_)) {
    metrics_.upstream.tracks_blocked.Add();
  }
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
  peer.leaving = true;
  above_->upstreams.Disconnect(peer.id);
  // In this order: it is neither asked for what it leaves behind, nor told that it has gone.
  while (!peer.told_namespaces.empty()) {
    Unannounce(peer, *peer.told_namespaces.begin());
  }
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
    OnUpstreamGone(peer, peer.upstream.begin()->first, std::nullopt);
  }
  while (!peer.fetches.empty()) {
    EndFetch(peer, peer.fetches.begin());
  }
  above_->OnPeerGone(peer);
  peer.crowded.clear();
  while (!peer.prefixes.empty()) {
    ForgetPrefix(peer, peer.prefixes.begin()->first);
  }
  while (!peer.namespace_prefixes.empty()) {
    ForgetPrefix(peer, peer.namespace_prefixes.begin()->first);
  }
}

void Relay::On(Peer& peer, const moqt::RequestAccepted& event) {
  if (above_->statuses.OnAccepted(peer.id, event) ||
      above_->tracks.OnAccepted(peer.id, event.request)) {
    return;
  }
  OnUpstreamAnswer(peer, event);
  const SubscriberId id{peer.id, event.request};
  if (const TrackName* const track = audience_.TrackOf(id)) {
    audience_.Update(id, event.parameters, stock_.Find(*track).value_or(TrackFacts()));
    if (event.parameters.new_group_request) {
      AskForNewGroup(*track, *event.parameters.new_group_request);
    }
  }
}

void Relay::On(Peer& peer, const moqt::RequestRefused& event) {
  if (above_->OnRefused(peer, event.request, event.error)) {
    return;
  }
  if (event.error.code == moqt::RequestCode::kDuplicateSubscription) {
    ExpectPublish(peer, event.request);
    audience_.Remove({peer.id, event.request});
    return;
  }
  OnUpstreamGone(peer, event.request, event.error);
  if (audience_.TrackOf({peer.id, event.request}) != nullptr) {
    above_->OnOfferRefused(peer, event.error);
  }
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
  const moqt::RequestError error = Because(moqt::RequestCode::kInternalError, event.reason);
  if (above_->namespaces.Owns(peer.id, event.request)) {
    while (!peer.told_namespaces.empty()) {
      Unannounce(peer, *peer.told_namespaces.begin());
    }
  }
  above_->OnCancelled(peer, event.request, error);
  OnUpstreamGone(peer, event.request, error);
  Withdraw(peer, event.request);
  StopWaiting(peer, event.request);
  if (const auto fetch = peer.fetches.find(event.request); fetch != peer.fetches.end()) {
    EndFetch(peer, fetch);
  }
  ForgetPrefix(peer, event.request);
  audience_.Remove({peer.id, event.request});
}

void Relay::On(Peer& peer, const moqt::SubgroupStopped& event) {
  audience_.OnStopped({peer.id, event.request}, event.subgroup);
}

void Relay::On(Peer& peer, const moqt::SendRoom& event) { Continue(peer, event.request); }

void Relay::Continue(Peer& peer, moqt::RequestId request) {
  const auto fetch = peer.fetches.find(request);
  if (fetch == peer.fetches.end()) {
    return;
  }
  touched_.insert(peer.id);
  const SubscriberId id{peer.id, request};
  FetchAnswer::State state = FetchAnswer::State::kReading;
  do {
    state = fetch->second.Continue(stock_.store(), now_, gate_.FetchRoom(peer), metrics_);
    gate_.shares().Set(peer.id, peer.session->queued_bytes());
    for (const StoreTicket ticket : fetch->second.TakeAsked()) {
      reads_.emplace(ticket, id);
    }
  } while (state == FetchAnswer::State::kReading && !above_->AskFor(peer, request, fetch->second));
  if (state == FetchAnswer::State::kAhead || state == FetchAnswer::State::kCrowded) {
    above_->fetches.OnProgress(id, fetch->second.cursor().at());
  }
  if (state == FetchAnswer::State::kDone) {
    metrics_.Fetched(now_ - fetch->second.begun());
    EndFetch(peer, fetch);
  } else if (state == FetchAnswer::State::kCrowded) {
    peer.crowded.insert(request);
    gate_.OnCrowded(peer);
  }
}

void Relay::NoteMiss(Miss miss) {
  metrics_.Missed(NameOf(miss.reason));
  for (const std::string& name : above_->upstreams.AwayFor(miss.track.space())) {
    if (miss.upstreams.size() < UpstreamTrial::kKeptMax) {
      miss.upstreams.push_back({name, UpstreamTrial::Outcome::kNotConnected, {}});
    }
  }
  misses_.Add(std::move(miss));
}

void Relay::EndFetch(Peer& peer, std::map<moqt::RequestId, FetchAnswer>::iterator fetch) {
  if (std::optional<Miss> miss = fetch->second.MissOf(now_)) {
    miss->peer = peer.id;
    NoteMiss(*std::move(miss));
  }
  for (const StoreTicket ticket : fetch->second.Cancel(stock_.store())) {
    reads_.erase(ticket);
  }
  if (!Planted(PlantedBug::kPinLeaks)) {
    stock_.store().ram().Unpin(fetch->second.pin());
  }
  above_->fetches.Leave({peer.id, fetch->first});
  const std::optional<TrackName> asked =
      fetch->second.cursor().fills() ? std::optional(fetch->second.track()) : std::nullopt;
  peer.crowded.erase(fetch->first);
  peer.fetches.erase(fetch);
  if (asked) {
    ForgetIfUnused(*asked);
  }
}

void Relay::TakeReads() {
  std::set<SubscriberId> ready;
  for (StoreRead& read : stock_.TakeReads()) {
    const auto who = reads_.extract(read.ticket);
    const auto peer = who ? peers_.find(who.mapped().peer) : peers_.end();
    if (peer == peers_.end()) {
      continue;
    }
    const auto fetch = peer->second.fetches.find(who.mapped().request);
    if (fetch != peer->second.fetches.end()) {
      std::optional<Object> object;
      if (read.found) {
        object = std::move(read.found->object);
      }
      fetch->second.OnRead(read.ticket, std::move(object), std::move(read.trials));
      ready.insert(who.mapped());
    }
  }
  for (const SubscriberId& id : ready) {
    Continue(peers_.at(id.peer), id.request);
  }
}

void Relay::TakeAcks() {
  for (const AckObject& ack : stock_.acks().TakeObjects()) {
    const uint64_t id = ack.object.location.object;
    (void)stock_.KeepAck(ack.track, ack.object.location, now_).ok();
    audience_.Forward(
        ack.track,
        {ack.object, id == 0 ? std::nullopt : std::optional(id - 1), id == 0, false, now_}, now_);
  }
}

void Relay::ForgetAcks() {
  for (const TrackName& track :
       stock_.acks().Expire(now_, [this](const TrackName& ack) { return audience_.Has(ack); })) {
    ForgetIfUnused(track);
  }
}

void Relay::ContinueCrowded(Peer& peer) {
  if (peer.crowded.empty() || peer.session->queued_bytes() > gate_.FetchRoom(peer) / 2) {
    return;
  }
  for (const moqt::RequestId request : std::exchange(peer.crowded, {})) {
    Continue(peer, request);
  }
}

}  // namespace kvcast::relay
