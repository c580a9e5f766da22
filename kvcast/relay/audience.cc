#include "kvcast/relay/audience.h"

#include <limits>

namespace kvcast::relay {

void Audience::Add(SubscriberId id, moqt::Session& session, const TrackName& track,
                   const LocationRange& wanted) {
  members_.insert_or_assign(id, Member{Subscription(session, id.request, wanted), track});
  tracks_[track].insert(id);
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
  members_.erase(found);
}

void Audience::RemovePeer(PeerId peer) {
  for (auto next = members_.lower_bound({peer, 0});
       next != members_.end() && next->first.peer == peer; next = members_.lower_bound({peer, 0})) {
    Remove(SubscriberId(next->first));
  }
}

size_t Audience::CountOf(PeerId peer) const {
  const auto from = members_.lower_bound({peer, 0});
  const auto to = members_.upper_bound({peer, std::numeric_limits<moqt::RequestId>::max()});
  return static_cast<size_t>(std::distance(from, to));
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
  for (const SubscriberId& id : ended) {
    const auto member = members_.find(id);
    member->second.subscription.End(code, reason);
    members_.erase(member);
    touched_.insert(id.peer);
  }
}

}  // namespace kvcast::relay
