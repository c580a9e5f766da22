#include "kvcast/relay/audience.h"

namespace kvcast::relay {

void Audience::Add(SubscriberId id, moqt::Session& session, const TrackName& track,
                   const LocationRange& wanted) {
  Remove(id);
  members_.emplace(id, Member{Subscription(session, id.request, wanted), track});
  tracks_[track].insert(id);
  ++counts_[id.peer];
  metrics_->subscriptions.Add();
}

Subscription* Audience::Find(SubscriberId id) {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second.subscription;
}

const TrackName* Audience::TrackOf(SubscriberId id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second.track;
}

void Audience::Remove(SubscriberId id) {
  const auto found = members_.find(id);
  if (found == members_.end()) {
    return;
  }
  const auto track = tracks_.find(found->second.track);
  track->second.erase(id);
  if (track->second.empty()) {
    deserted_.insert(track->first);
    tracks_.erase(track);
  }
  Erase(found);
}

void Audience::Erase(std::map<SubscriberId, Member>::iterator member) {
  const auto count = counts_.find(member->first.peer);
  if (--count->second == 0) {
    counts_.erase(count);
  }
  members_.erase(member);
}

void Audience::RemovePeer(PeerId peer) {
  for (auto next = members_.lower_bound({peer, 0});
       next != members_.end() && next->first.peer == peer; next = members_.lower_bound({peer, 0})) {
    Remove(SubscriberId(next->first));
  }
}

size_t Audience::CountOf(PeerId peer) const {
  const auto count = counts_.find(peer);
  return count == counts_.end() ? 0 : count->second;
}

std::vector<TrackName> Audience::TracksBelow(const TrackNamespace& prefix) const {
  std::vector<TrackName> below;
  for (const auto& [track, members] : tracks_) {
    if (prefix.IsPrefixOf(track.space())) {
      below.push_back(track);
    }
  }
  return below;
}

bool Audience::TooFarBehind(const Subscription& subscription) const {
  return subscription.queued_bytes() >= limits_->subscription_queue_bytes ||
         subscription.peer_queued_bytes() >= limits_->peer_queue_bytes;
}

void Audience::Forward(const TrackName& track, const LiveObject& live) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  std::vector<SubscriberId> behind;
  for (const SubscriberId& id : found->second) {
    Subscription& subscription = members_.at(id).subscription;
    if (!subscription.Forward(live)) {
      continue;
    }
    touched_.insert(id.peer);
    metrics_->Sent(live.object);
    if (TooFarBehind(subscription)) {
      subscription.End(moqt::DoneCode::kTooFarBehind, "Too much waits to be sent.");
      metrics_->subscriptions_cut.Add();
      behind.push_back(id);
    }
  }
  for (const SubscriberId& id : behind) {
    Remove(id);
  }
}

void Audience::EndSubgroup(const TrackName& track, uint64_t group, uint64_t subgroup,
                           bool complete) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  for (const SubscriberId& id : found->second) {
    members_.at(id).subscription.EndSubgroup(group, subgroup, complete);
    touched_.insert(id.peer);
  }
}

void Audience::EndTrack(const TrackName& track, moqt::DoneCode code, const std::string& reason) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  const std::set<SubscriberId> ended = std::exchange(found->second, {});
  tracks_.erase(found);
  deserted_.insert(track);
  for (const SubscriberId& id : ended) {
    const auto member = members_.find(id);
    member->second.subscription.End(code, reason);
    Erase(member);
    touched_.insert(id.peer);
  }
}

}  // namespace kvcast::relay
