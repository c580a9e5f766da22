#include "kvcast/relay/audience.h"

#include <algorithm>

namespace kvcast::relay {

void Audience::Add(SubscriberId id, By by, moqt::Session& session, const TrackName& track,
                   const LocationRange& wanted, const TrackFacts& facts, Duration patience) {
  Remove(id);
  members_.emplace(id, Member{Subscription(session, id.request, wanted, facts), by, track, patience,
                              facts.largest});
  tracks_[track].insert(id);
  moved_.insert(id);
  ++counts_[id.peer];
  if (by == By::kPublish) {
    ++published_[id.peer];
  }
  metrics_->subscriptions.Add();
}

void Audience::Update(SubscriberId id, const moqt::Parameters& parameters,
                      const TrackFacts& facts) {
  if (const auto found = members_.find(id); found != members_.end()) {
    found->second.subscription.Update(parameters, facts);
    moved_.insert(id);
  }
}

void Audience::OnStopped(SubscriberId id, moqt::StreamId stream) {
  if (const auto found = members_.find(id); found != members_.end()) {
    found->second.subscription.OnStopped(stream);
    moved_.insert(id);
  }
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
  if (member->second.by == By::kPublish && --published_.at(member->first.peer) == 0) {
    published_.erase(member->first.peer);
  }
  if (--counts_.at(member->first.peer) == 0) {
    counts_.erase(member->first.peer);
  }
  SetDue(member->first, member->second, std::nullopt);
  moved_.erase(member->first);
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

bool Audience::Has(PeerId peer, const TrackName& track) const {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return false;
  }
  const auto first = found->second.lower_bound({peer, 0});
  return first != found->second.end() && first->peer == peer;
}

size_t Audience::PublishedTo(PeerId peer) const {
  const auto count = published_.find(peer);
  return count == published_.end() ? 0 : count->second;
}

// By what waits before the next object, however large that is: who has taken all is not behind.
bool Audience::TooFarBehind(PeerId peer, const Subscription& subscription) const {
  const size_t queued = subscription.queued_bytes();
  return queued > 0 && (queued >= limits_->subscription_queue_bytes ||
                        subscription.peer_queued_bytes() >= shares_->MostFor(peer));
}

void Audience::Cut(SubscriberId id, const std::string& reason) {
  if (const auto found = members_.find(id); found != members_.end()) {
    found->second.subscription.End(moqt::DoneCode::kTooFarBehind, reason);
    metrics_->subscriptions_cut.Add();
    touched_.insert(id.peer);
    Remove(id);
  }
}

void Audience::Forward(const TrackName& track, const LiveObject& live, Instant now) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  std::vector<SubscriberId> behind;
  for (const SubscriberId& id : found->second) {
    Member& member = members_.at(id);
    Subscription& subscription = member.subscription;
    member.largest = std::max(member.largest, std::optional(live.object.location));
    if (TooFarBehind(id.peer, subscription)) {
      behind.push_back(id);
      continue;
    }
    const bool sent = subscription.Forward(live, now);
    if (subscription.watch().TakeMoved()) {
      moved_.insert(id);
    }
    if (!sent) {
      continue;
    }
    touched_.insert(id.peer);
    metrics_->Sent(live.object);
    shares_->Set(id.peer, subscription.peer_queued_bytes());
  }
  for (const SubscriberId& id : behind) {
    Cut(id, "Too much waits to be sent.");
  }
}

void Audience::PassOver(const TrackName& track, const Object& object) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || object.forwarding == Forwarding::kDatagram) {
    return;
  }
  for (const SubscriberId& id : found->second) {
    members_.at(id).subscription.PassOver(object.location, object.subgroup);
  }
}

void Audience::OnPublisherGone(const TrackName& track) {
  if (const auto found = tracks_.find(track); found != tracks_.end()) {
    for (const SubscriberId& id : found->second) {
      members_.at(id).lacks_some = true;
    }
  }
}

void Audience::OnPublisher(const TrackName& track, Location largest) {
  if (const auto found = tracks_.find(track); found != tracks_.end()) {
    for (const SubscriberId& id : found->second) {
      Member& member = members_.at(id);
      member.lacks_some = member.lacks_some || member.largest < largest;
    }
  }
}

void Audience::OnGaps(const TrackName& track, std::span<const LocationRange> gaps) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  for (const SubscriberId& id : found->second) {
    RangeWatch& watch = members_.at(id).subscription.watch();
    watch.OnGaps(gaps);
    if (watch.TakeMoved()) {
      moved_.insert(id);
    }
  }
}

void Audience::EndSubgroup(const TrackName& track, uint64_t group, uint64_t subgroup, bool complete,
                           Instant now) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  for (const SubscriberId& id : found->second) {
    Subscription& subscription = members_.at(id).subscription;
    subscription.EndSubgroup(group, subgroup, complete, now);
    touched_.insert(id.peer);
    if (subscription.watch().TakeMoved()) {
      moved_.insert(id);
    }
  }
}

void Audience::SetDue(SubscriberId id, Member& member, std::optional<Instant> due) {
  if (member.due == due) {
    return;
  }
  if (member.due) {
    due_.erase({*member.due, id});
  }
  if (due) {
    due_.insert({*due, id});
  }
  member.due = due;
}

// Where something of the range is under way, it is waited for as long as it takes: that it is under
// way can end in no other way than by coming, or by being given up.
void Audience::EndRanges(const Knowledge& known, Instant now) {
  if (moved_.empty() && (due_.empty() || due_.begin()->first > now)) {
    return;
  }
  std::set<SubscriberId> looked = std::exchange(moved_, {});
  for (auto due = due_.begin(); due != due_.end() && due->first <= now; ++due) {
    looked.insert(due->second);
  }
  for (const SubscriberId& id : looked) {
    Member& member = members_.at(id);
    RangeWatch& watch = member.subscription.watch();
    if (!watch.has_end()) {
      SetDue(id, member, std::nullopt);
      continue;
    }
    const RangeWatch::Answer answer =
        watch.Ask({[&](uint64_t group) { return known.group(member.track, group); },
                   [&](uint64_t group) { return known.group_from(member.track, group); }},
                  now);
    std::optional<Instant> due;
    if (const std::optional<Instant> since = watch.quiet_since()) {
      due = *since + member.patience;
    }
    const bool waited = due && *due <= now;
    const bool on_its_way = waited && (member.subscription.is_sending() ||
                                       known.is_coming(member.track, watch.range()));
    if (answer == RangeWatch::Answer::kOver || (waited && !on_its_way)) {
      member.subscription.EndRange(answer == RangeWatch::Answer::kOver
                                       ? "All of the range has been sent."
                                       : "Nothing more of the range has come for a while.");
      touched_.insert(id.peer);
      Remove(id);
      continue;
    }
    if (answer == RangeWatch::Answer::kMore) {
      moved_.insert(id);
    }
    SetDue(id, member, on_its_way ? std::optional(now + member.patience) : due);
  }
}

std::optional<Instant> Audience::deadline() const {
  if (!moved_.empty()) {
    return Instant();  // There is more to look at: at once.
  }
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

void Audience::EndTrack(const TrackName& track, moqt::DoneCode code, const std::string& reason,
                        bool lacks_some) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  const std::set<SubscriberId> ended = std::exchange(found->second, {});
  tracks_.erase(found);
  deserted_.insert(track);
  for (const SubscriberId& id : ended) {
    const auto member = members_.find(id);
    member->second.subscription.End(code, reason, lacks_some || member->second.lacks_some);
    Erase(member);
    touched_.insert(id.peer);
  }
}

}  // namespace kvcast::relay
