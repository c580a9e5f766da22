// Upstreams that are leaving: another session takes the place of theirs, what is asked for from now
// on is asked there, and what is under way comes to its end.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {

bool Relay::Above::IsMoving(const TrackNamespace& space) const {
  return std::ranges::any_of(upstreams.For(space),
                             [this](PeerId id) { return relay_->peers_.at(id).leaving; });
}

void Relay::Above::PutOff(const SubscriberId& id, Upstream::Waiting& waiting) {
  if (!waiting.until) {
    waiting.moves = true;
    waiting.until = relay_->now_ + relay_->limits_.upstream_patience;
    relay_->rendezvous_.insert({*waiting.until, id.peer, id.request});
  }
}

// Whoever is asked now decides.
void Relay::Above::PutOffNoMore(Upstream& upstream) {
  for (auto& [id, waiting] : upstream.waiting) {
    if (std::exchange(waiting.moves, false)) {
      relay_->rendezvous_.erase({*waiting.until, id.peer, id.request});
      waiting.until.reset();
    }
  }
}

// A live track comes by both for a while. Which of its objects has come by the first nobody could
// tell; the second begins with those that are new when it is asked.
void Relay::Above::Move(Peer& from, const Peer& to) {
  from.leaving = true;
  moved_.emplace(from.id, relay_->now_ + relay_->limits_.move_patience);
  fetches.OnMoved(from.id, to.id, relay_->now_);
  std::vector<TrackName> wanted;
  for (const auto& [request, track] : from.upstream) {
    wanted.push_back(track);
  }
  for (const auto& [track, upstream] : relay_->upstream_) {
    if (!upstream.waiting.empty() && upstream.asked.empty()) {
      wanted.push_back(track);
    }
  }
  for (const TrackName& track : wanted) {
    AskUpstream(track, std::nullopt);
    const auto asked = relay_->upstream_.find(track);
    if (asked != relay_->upstream_.end() && !asked->second.asked.empty()) {
      PutOffNoMore(asked->second);
    }
  }
}

// Whether anything would be lost with the session.
bool Relay::Above::IsBringing(const Peer& peer) const {
  const auto brings = [&](const auto& each) {
    const TrackName& track = each.second.track();
    return peer.session->HasOpenSubgroups(each.first, 0, UINT64_MAX) ||
           (relay_->audience_.Has(track) && relay_->published_.at(track).size() == 1);
  };
  return fetches.IsAsking(peer.id) || statuses.IsAsking(peer.id) || !peer.fetches.empty() ||
         std::ranges::any_of(peer.publications, brings);
}

void Relay::Above::LeaveMoved() {
  for (auto each = moved_.begin(); each != moved_.end();) {
    Peer& peer = relay_->peers_.at(each->first);
    if (relay_->now_ < each->second && IsBringing(peer)) {
      ++each;
      continue;
    }
    each = moved_.erase(each);
    relay_->log_.Info("upstream left for another session", {{"upstream", PeerName(peer.id)}});
    peer.session->Close(moqt::SessionCode::kNoError, "This node goes on by another session.");
    relay_->Touch(peer.id);
  }
}

}  // namespace kvcast::relay
