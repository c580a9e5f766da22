#include "kvcast/relay/gate.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/relay/peer.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/ring_watch.h"

namespace kvcast::relay {
namespace {

// The part of memory that may wait to be sent to all peers, and that may have come from them, where
// nothing else is said.
constexpr size_t kPartOfMemory = 4;
// How much sooner those are ended who take nothing, while others wait for their room.
constexpr int kImpatience = 6;
// Of those who wait, so many are looked at in one go.
constexpr size_t kWakeAtOnce = 64;
// What has come is counted in so many steps of the memory.
constexpr size_t kReceivedSteps = 1024;

// What a request is about. One of track and prefix is there, unless it changes something else of a
// request that was admitted before.
struct AskedFor {
  moqt::RequestId request = 0;
  Act act = Act::kRead;
  moqt::Parameters* parameters = nullptr;
  TrackName* track = nullptr;
  TrackNamespace* prefix = nullptr;
  bool is_update = false;
};

std::optional<AskedFor> AskedForBy(moqt::Event& event) {
  if (auto* publish = std::get_if<moqt::PublishReceived>(&event)) {
    return AskedFor{publish->request, Act::kPublish, &publish->parameters, &publish->track};
  }
  if (auto* subscribe = std::get_if<moqt::SubscribeReceived>(&event)) {
    return AskedFor{subscribe->request, Act::kRead, &subscribe->parameters, &subscribe->track};
  }
  if (auto* fetch = std::get_if<moqt::FetchReceived>(&event)) {
    return AskedFor{fetch->request, Act::kRead, &fetch->parameters, &fetch->track};
  }
  if (auto* status = std::get_if<moqt::TrackStatusReceived>(&event)) {
    return AskedFor{status->request, Act::kRead, &status->parameters, &status->track};
  }
  if (auto* tracks = std::get_if<moqt::SubscribeTracksReceived>(&event)) {
    return AskedFor{tracks->request, Act::kList, &tracks->parameters, nullptr, &tracks->prefix};
  }
  if (auto* spaces = std::get_if<moqt::SubscribeNamespaceReceived>(&event)) {
    return AskedFor{spaces->request, Act::kList, &spaces->parameters, nullptr, &spaces->prefix};
  }
  if (auto* space = std::get_if<moqt::PublishNamespaceReceived>(&event)) {
    return AskedFor{space->request, Act::kAnnounce, &space->parameters, nullptr, &space->space};
  }
  if (auto* update = std::get_if<moqt::UpdateReceived>(&event)) {
    std::optional<TrackNamespace>& moved = update->parameters.namespace_prefix;
    return AskedFor{update->request,           Act::kList, &update->parameters, nullptr,
                    moved ? &*moved : nullptr, true};
  }
  return std::nullopt;
}

constexpr const char* kMayNotPublish = "This credential is not for publishing here.";
constexpr const char* kMayNotListAll =
    "This credential is for single tenants: a prefix has to name one of them.";

}  // namespace

Gate::Gate(Relay& relay, Access::Options access, size_t ram_bytes)
    : relay_(&relay),
      access_(std::move(access)),
      ram_bytes_(ram_bytes),
      identities_(relay.limits_),
      shares_(relay.limits_, 0) {
  SetRoom();
}

size_t Gate::PartOfMemory(size_t bytes, size_t least) const {
  return bytes > 0 ? bytes : std::max(least, ram_bytes_ / kPartOfMemory);
}

void Gate::SetRoom() {
  const Limits& limits = relay_->limits_;
  shares_.SetNodeBytes(PartOfMemory(limits.node_queue_bytes, 0));
  room_->SetMost(PartOfMemory(limits.node_receive_bytes, moqt::Limits().object_bytes_max),
                 SIZE_MAX);
}

void Gate::OnLimits() {
  SetRoom();
  identities_.OnLimits(relay_->now_);
  for (auto& [id, peer] : relay_->peers_) {
    if (peer.account != nullptr) {
      SetRoomOf(*peer.account);
    }
  }
}

// A relay's streams are as many as it needs.
void Gate::SetRoomOf(IdentityBook::Account& account) const {
  account.room->SetMost(relay_->limits_.identity_receive_bytes,
                        account.is_relay ? SIZE_MAX : relay_->limits_.data_streams_max);
}

void Gate::OnJoined(Peer& peer) { peer.session->ShareRoom({nullptr, room_, false}); }

bool Gate::Admit(Peer& peer, moqt::Event& event) {
  if (std::holds_alternative<moqt::RoomWanted>(event)) {
    MakeRoom(peer);
    return false;
  }
  const std::optional<AskedFor> asked = AskedForBy(event);
  if (!asked) {
    if (std::holds_alternative<moqt::RequestCancelled>(event)) {
      OnUseless(peer);
    }
    return true;
  }
  const auto refuse = [&](const moqt::RequestError& error) {
    OnUseless(peer);
    if (asked->is_update) {
      relay_->metrics_.Refused(error.code);
      (void)peer.session->RefuseUpdate(asked->request, error).ok();
    } else {
      relay_->Refuse(peer, asked->request, error);
    }
    return false;
  };
  if (const std::optional<moqt::RequestError> overload = OverloadBy(peer, event)) {
    return refuse(*overload);
  }
  if (asked->track == nullptr && asked->prefix == nullptr) {
    return true;
  }
  if (asked->track != nullptr && RingWatch::IsQuestion(*asked->track)) {
    return true;  // It is about who asks whom, and looks nothing up.
  }
  const TrackNamespace& space = asked->track != nullptr ? asked->track->space() : *asked->prefix;
  const Access::Decision decision = access_.Decide(
      peer.credential, peer.identity, asked->act, space,
      asked->track != nullptr ? std::string_view(asked->track->name()) : std::string_view(),
      asked->parameters->auth_tokens, NowUs());
  if (decision.allowed) {
    if (decision.until_us) {
      EndGrantAt({InstantOf(*decision.until_us), peer.id, asked->request});
    }
    return true;
  }
  relay_->metrics_.unauthorized.Add();
  // These say nothing of what is here: they follow from the credential and the request alone.
  if (asked->act == Act::kPublish || asked->act == Act::kAnnounce) {
    return refuse(Because(moqt::RequestCode::kUnauthorized, kMayNotPublish));
  }
  if (asked->prefix != nullptr && IsAboveTenants(*asked->prefix)) {
    return refuse(Because(moqt::RequestCode::kUnauthorized, kMayNotListAll));
  }
  // It goes the way of one for what is not here, to the last byte and the last look.
  OnUseless(peer);
  if (asked->track != nullptr) {
    *asked->track = *TrackName::Of(Access::Hidden(), "");
  } else {
    *asked->prefix = Access::Hidden();
  }
  return true;
}

std::optional<moqt::RequestError> Gate::OverloadBy(Peer& peer, const moqt::Event& event) {
  IdentityBook::Account* const account = peer.account;
  if (account == nullptr || account->is_relay) {
    return std::nullopt;
  }
  Recount(peer);
  if (!account->requests.Take(relay_->now_)) {
    return Later(
        moqt::RequestCode::kExcessiveLoad,
        std::max<Duration>(account->requests.Wait(relay_->now_), std::chrono::milliseconds(1)),
        "Too many requests in too little time.");
  }
  const IdentityBook::Held& held = account->held;
  if (held.all() >= relay_->limits_.streams_max &&
      !std::holds_alternative<moqt::UpdateReceived>(event)) {
    return relay_->Overloaded("Too many requests at a time.");
  }
  if (std::holds_alternative<moqt::PublishReceived>(event) &&
      held.publications >= relay_->limits_.publications_max) {
    return relay_->Overloaded("Too many publications.");
  }
  if (std::holds_alternative<moqt::SubscribeReceived>(event) &&
      held.subscriptions >= relay_->limits_.subscriptions_max) {
    return relay_->Overloaded("Too many subscriptions.");
  }
  if (std::holds_alternative<moqt::FetchReceived>(event) &&
      held.fetches >= relay_->limits_.fetches_max) {
    return relay_->Overloaded("Too many fetches.");
  }
  const bool about_space = std::holds_alternative<moqt::SubscribeTracksReceived>(event) ||
                           std::holds_alternative<moqt::SubscribeNamespaceReceived>(event) ||
                           std::holds_alternative<moqt::PublishNamespaceReceived>(event);
  if (about_space && held.namespaces >= relay_->limits_.namespaces_max) {
    return relay_->Overloaded("Too many namespaces.");
  }
  return std::nullopt;
}

void Gate::Recount(Peer& peer) {
  shares_.Set(peer.id, peer.session->queued_bytes());
  const uint64_t refused = peer.session->refused_for_room();
  relay_->metrics_.receptions.refused.Add(refused - std::exchange(peer.refused_for_room, refused));
  if (peer.account == nullptr) {
    return;
  }
  IdentityBook::Held held;
  held.subscriptions = relay_->audience_.CountOf(peer.id) - relay_->audience_.PublishedTo(peer.id) +
                       peer.waiting.size();
  held.fetches = peer.fetches.size() + peer.open_fetches.size();
  held.namespaces = peer.namespaces.size() + peer.prefixes.size() + peer.namespace_prefixes.size();
  held.publications = peer.publications.size();
  held.questions = peer.open_statuses.size();
  IdentityBook::Move(*peer.account, peer.held, held);
}

void Gate::OnUseless(Peer& peer) {
  if (peer.account == nullptr || peer.account->is_relay ||
      peer.account->useless.Take(relay_->now_)) {
    return;
  }
  relay_->log_.Warning("session closed for what leads to nothing", {{"peer", peer.id}});
  peer.session->Close(moqt::SessionCode::kProtocolViolation,
                      "Too much in too little time that leads to nothing.");
}

Instant Gate::InstantOf(uint64_t wall_us) const {
  const uint64_t now_us = NowUs();
  const uint64_t left_us = wall_us > now_us ? wall_us - now_us : 0;
  constexpr uint64_t kYearUs = uint64_t{366} * 86'400 * 1'000'000;
  return relay_->now_ + std::chrono::microseconds(std::min(left_us, kYearUs));
}

void Gate::OnSetup(Peer& peer, const moqt::Setup& setup) {
  if (peer.route || peer.uncounted) {  // We have chosen it, and it need not say who it is.
    const std::string name =
        peer.route ? "upstream " + std::to_string(*peer.route) : "the node itself";
    Welcome(peer, {{name, {Grant::Everything()}, {}}, {}});
    return;
  }
  Welcome(peer, access_.Greet(peer.credential, setup.auth_tokens,
                              "session " + std::to_string(peer.id), NowUs()));
}

// Of one connection that came to several shards of a node, the first one says it.
bool Gate::HasSessionFor(const Peer& peer, const Identity& identity) const {
  const bool is_newcomer = peer.account == nullptr && !peer.route && !peer.uncounted && !peer.guest;
  return !is_newcomer || identities_.SessionsOf(identity.name) < relay_->limits_.sessions_max;
}

void Gate::Welcome(Peer& peer, Access::Welcome welcome) {
  if (!welcome.refusal && !HasSessionFor(peer, welcome.identity)) {
    welcome.refusal = {moqt::SessionCode::kUnauthorized,
                       "This credential has as many sessions here as it may."};
  }
  if (welcome.refusal) {
    relay_->metrics_.unauthorized.Add();
    relay_->log_.Info("peer not let in", {{"peer", peer.id}, {"reason", welcome.refusal->reason}});
    peer.session->Close(welcome.refusal->code, welcome.refusal->reason);
    relay_->Touch(peer.id);
    return;
  }
  OnLeft(peer);
  peer.identity = std::move(welcome.identity);
  peer.account = &identities_.Join(peer.identity.name);
  peer.account->is_relay =
      peer.route || peer.uncounted || (access_.required() && peer.identity.is_relay());
  SetRoomOf(*peer.account);
  if (!peer.uncounted) {
    peer.session->ShareRoom({peer.account->room, room_, peer.route.has_value()});
  }
  if (!peer.uncounted) {
    shares_.Join(peer.id, peer.identity.name);
  }
  if (const std::optional<uint64_t> until = peer.identity.until_us()) {
    EndGrantAt({InstantOf(*until), peer.id, kWholeSession});
  }
  Recount(peer);
}

void Gate::OnLeft(Peer& peer) {
  peer.session->ShareRoom({});
  if (peer.account == nullptr) {
    return;
  }
  IdentityBook::Move(*peer.account, peer.held, {});
  identities_.Leave(peer.identity.name, relay_->now_);
  peer.account = nullptr;
  shares_.Leave(peer.id);
}

void Gate::Replace(Access::Options access) {
  access_ = Access(std::move(access));
  for (auto& [id, peer] : relay_->peers_) {
    if (peer.account != nullptr && !peer.route && !peer.uncounted) {
      Welcome(peer, access_.GreetAgain(peer.credential, peer.identity, NowUs()));
    }
  }
}

void Gate::MakeRoom(const Peer& peer) {
  if (peer.account != nullptr) {
    MakeRoomIn(*peer.account->room, peer.account);
  }
  MakeRoomIn(*room_, nullptr);
}

void Gate::MakeRoomIn(const moqt::ReceiveRoom& room, const IdentityBook::Account* of) {
  while (room.over()) {
    Peer* most = nullptr;
    for (auto& [id, peer] : relay_->peers_) {
      const bool is_of = !peer.route && (of == nullptr || peer.account == of);
      if (is_of &&
          (most == nullptr || peer.session->received_bytes() > most->session->received_bytes())) {
        most = &peer;
      }
    }
    const size_t held = most == nullptr ? 0 : most->session->received_bytes();
    if (held <= room.part()) {
      return;  // All of them have little.
    }
    relay_->log_.Warning("too much has come, and is given up", {{"peer", most->id}});
    // Some more than is needed, so that this is not done for every packet.
    most->session->GiveUpReceived(
        std::min(held - room.part(), room.bytes() - room.bytes_max() + room.bytes_max() / 8));
    relay_->Touch(most->id);
    if (most->session->received_bytes() >= held) {
      return;
    }
  }
}

bool Gate::IsOpen(SubscriberId id) const {
  const auto found = relay_->peers_.find(id.peer);
  if (found == relay_->peers_.end() || id.request == kWholeSession) {
    return found != relay_->peers_.end();
  }
  const Peer& peer = found->second;
  return relay_->audience_.Contains(id) || peer.publications.contains(id.request) ||
         peer.fetches.contains(id.request) || peer.open_fetches.contains(id.request) ||
         peer.open_statuses.contains(id.request) || peer.waiting.contains(id.request) ||
         peer.prefixes.contains(id.request) || peer.namespaces.contains(id.request) ||
         peer.namespace_prefixes.contains(id.request);
}

void Gate::EndGrantAt(const Ending& ending) {
  if (endings_.size() >= swept_at_) {
    std::erase_if(endings_, [this](const Ending& each) {
      return !IsOpen({each.peer, each.request});
    });
    swept_at_ = std::max(kEndingsMin, 2 * endings_.size());
  }
  endings_.insert(ending);
}

void Gate::EndGrants() {
  while (!endings_.empty() && endings_.begin()->at <= relay_->now_) {
    const Ending ending = *endings_.begin();
    endings_.erase(endings_.begin());
    const auto found = relay_->peers_.find(ending.peer);
    if (found == relay_->peers_.end()) {
      continue;
    }
    Peer& peer = found->second;
    if (ending.request == kWholeSession) {
      // The time that was noted may be that of an identity that it had before.
      Welcome(peer, access_.GreetAgain(peer.credential, peer.identity, NowUs()));
    } else {
      peer.session->Cancel(ending.request, moqt::ResetCode::kExpiredAuthToken);
      relay_->On(peer,
                 moqt::RequestCancelled{ending.request,
                                        static_cast<uint64_t>(moqt::ResetCode::kExpiredAuthToken),
                                        "The request's token has expired."});
      relay_->Touch(peer.id);
    }
  }
}

// Who stands still keeps others from going on only for so long.
Duration Gate::StallPatience() const {
  return relay_->limits_.stall_patience / (starved_.empty() ? 1 : kImpatience);
}

void Gate::EndStalled() {
  if (!stalls_.IsTime(relay_->now_)) {
    return;
  }
  stalls_.BeginLook();
  for (auto& [peer_id, peer] : relay_->peers_) {
    for (const moqt::RequestId request : peer.session->QueuedRequests()) {
      const SubscriberId id{peer_id, request};
      if (!stalls_.Look(id, peer.session->progress(request), relay_->now_, StallPatience())) {
        continue;
      }
      relay_->Touch(peer_id);
      if (relay_->audience_.Contains(id)) {
        relay_->audience_.Cut(id, "Nothing was taken for too long.");
      } else if (const auto fetch = peer.fetches.find(request); fetch != peer.fetches.end()) {
        relay_->metrics_.fetches_cut.Add();
        fetch->second.Reset(moqt::ResetCode::kTooFarBehind);
        relay_->EndFetch(peer, fetch);
      } else {
        peer.session->Cancel(request,
                             moqt::ResetCode::kTooFarBehind);  // All of it was handed over.
      }
    }
  }
  stalls_.EndLook();
}

void Gate::OnTime() {
  EndGrants();
  EndStalled();
}

// In steps, so that not every packet has the store look for room. Half is left to a store that is
// smaller than what may come.
void Gate::CountReceived() {
  const size_t step = ram_bytes_ / kReceivedSteps + 1;
  const size_t bytes = (room_->bytes() + step - 1) / step * step;
  relay_->stock_.CountReceived(std::min(bytes, ram_bytes_ / 2), relay_->now_);
}

void Gate::Settle() {
  relay_->metrics_.receptions.bytes.Set(static_cast<int64_t>(room_->bytes()));
  if (shares_.total() > 0) {
    stalls_.Expect(relay_->now_, StallPatience());
  } else {
    stalls_.Rest();
  }
}

std::optional<Instant> Gate::deadline() const {
  std::optional<Instant> first = stalls_.next();
  if (!endings_.empty() && (!first || endings_.begin()->at < *first)) {
    first = endings_.begin()->at;
  }
  return first;
}

void Gate::OnCrowded(Peer& peer) {
  if (peer.session->queued_bytes() == 0 && !std::exchange(peer.starved, true)) {
    starved_.push_back(peer.id);
  }
}

void Gate::WakeStarved() {
  for (size_t looked = std::min(starved_.size(), kWakeAtOnce); looked > 0; --looked) {
    const PeerId id = starved_.front();
    starved_.pop_front();
    const auto found = relay_->peers_.find(id);
    if (found == relay_->peers_.end()) {
      continue;
    }
    Peer& peer = found->second;
    peer.starved = !peer.crowded.empty() && shares_.IsFull(id);
    if (peer.starved) {
      starved_.push_back(id);
    } else if (!peer.crowded.empty()) {
      relay_->Touch(id);
    }
  }
}

size_t Gate::FetchRoom(const Peer& peer) const {
  if (!peer.uncounted && shares_.IsFull(peer.id)) {
    return 0;
  }
  return std::min(relay_->limits_.fetch_queue_bytes, shares_.MostFor(peer.id));
}

uint64_t Gate::NowUs() const { return relay_->stock_.store().WallAt(relay_->now_); }

}  // namespace kvcast::relay
