// Who wants to hear of all below a prefix, and what they are told.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/moqt/wanted_range.h"
#include "kvcast/relay/below.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {

std::vector<TrackName> Relay::TracksBelow(const Peer& peer, const TrackNamespace& prefix) const {
  std::vector<TrackName> tracks = stock_.catalogs().Below(prefix);
  VisitBelow(published_, prefix, [&](const TrackName& track, const auto&) {
    if (!Publishes(peer, track) && !(peer.route && IsFromAbove(track))) {
      tracks.push_back(track);
    }
    return tracks.size() <= limits_.prefix_tracks_max;  // More are too many.
  });
  return tracks;
}

void Relay::On(Peer& peer, const moqt::SubscribeTracksReceived& event) {
  if (!above_->Follow(peer, event.request, above_->tracks, event.prefix)) {
    Refuse(peer, event.request, Overloaded(Above::kNoRoom));
  } else if (!above_->Hold(peer, event)) {
    AnswerSubscribeTracks(peer, event);
  }
}

void Relay::AnswerSubscribeTracks(Peer& peer, const moqt::SubscribeTracksReceived& event) {
  const std::vector<TrackName> tracks = TracksBelow(peer, event.prefix);
  if (tracks.size() > limits_.prefix_tracks_max) {
    above_->Unfollow(peer, event.request);
    Refuse(peer, event.request, moqt::RequestCode::kNamespaceTooLarge,
           "Too many tracks are below this prefix.");
    return;
  }
  if (!peer.session->AcceptSubscribeTracks(event.request, {}).ok()) {
    above_->Unfollow(peer, event.request);
    return;
  }
  peer.prefixes[event.request] = {event.prefix, event.parameters.forward.value_or(true)};
  track_followers_.Add(event.prefix, {peer.id, event.request});
  for (const TrackName& track : tracks) {
    PublishTo(peer, event.request, track);
  }
}

void Relay::MovePrefix(Peer& peer, moqt::RequestId request, const TrackNamespace& to) {
  const SubscriberId id{peer.id, request};
  if (const auto prefix = peer.prefixes.find(request); prefix != peer.prefixes.end()) {
    track_followers_.Remove(prefix->second.space, id);
    track_followers_.Add(to, id);
    prefix->second.space = to;
    for (const TrackName& track : TracksBelow(peer, to)) {
      PublishTo(peer, request, track);
    }
  }
  const auto spaces = peer.namespace_prefixes.find(request);
  if (spaces != peer.namespace_prefixes.end()) {
    namespace_followers_.Remove(spaces->second, id);
    namespace_followers_.Add(to, id);
    spaces->second = to;
    AnnounceBelow(peer, request, to);
  }
}

void Relay::ForgetPrefix(Peer& peer, moqt::RequestId request) {
  if (const auto prefix = peer.prefixes.extract(request)) {
    track_followers_.Remove(prefix.mapped().space, {peer.id, request});
    above_->Unfollow(peer, request);
  }
  if (const auto spaces = peer.namespace_prefixes.extract(request)) {
    namespace_followers_.Remove(spaces.mapped(), {peer.id, request});
    above_->Unfollow(peer, request);
  }
}

// `tracks` is the request by which the peer asked for it.
void Relay::PublishTo(Peer& peer, moqt::RequestId tracks, const TrackName& track) {
  if (peer.leaving || audience_.Has(peer.id, track)) {
    return;  // It is asked for nothing new; or has it, and is told of it again.
  }
  // A relay asks for many.
  if (!peer.is_relay() && audience_.PublishedTo(peer.id) >= limits_.published_max) {
    (void)peer.session->SendPublishBlocked(tracks, track).ok();
    metrics_.tracks_blocked.Add();
    return;
  }
  const std::optional<TrackFacts> facts = stock_.Find(track);
  if (!facts) {
    return;
  }
  moqt::Parameters parameters;
  parameters.largest_object = facts->largest;
  if (!peer.prefixes.at(tracks).forward) {
    parameters.forward = false;
  }
  // Invalid if the peer has subscribed to the track by itself, and then it has what it wants.
  const Result<moqt::RequestId> request =
      peer.session->Publish(track, parameters, facts->properties);
  if (request.ok()) {
    audience_.Add({peer.id, *request}, Audience::By::kPublish, *peer.session, track,
                  moqt::WantedBy(std::nullopt, facts->largest), *facts,
                  RangePatience(facts->properties));
    Touch(peer.id);
  } else if (peer.session->IsEnding(track)) {
    peer.postponed[track] = tracks;
  }
}

void Relay::PublishPostponed(Peer& peer) {
  for (auto each = peer.postponed.begin(); each != peer.postponed.end();) {
    if (peer.session->IsEnding(each->first)) {
      ++each;
      continue;
    }
    const auto [track, tracks] = *each;
    each = peer.postponed.erase(each);
    const bool goes_on = published_.contains(track) || stock_.catalogs().IsOurs(track);
    if (goes_on && peer.prefixes.contains(tracks)) {
      PublishTo(peer, tracks, track);
    }
  }
}

void Relay::Announce(const TrackName& track, const Peer* publisher) {
  if (owns_ && !owns_(track.space())) {
    return;
  }
  if (publisher == nullptr || !publisher->route) {
    above_->Offer(track);
  }
  for (const SubscriberId& id : track_followers_.Above(track.space())) {
    Peer& peer = peers_.at(id.peer);
    if (&peer != publisher && !(publisher != nullptr && publisher->route && peer.route)) {
      PublishTo(peer, id.request, track);
    }
  }
}

bool Relay::Above::Follow(const Peer& peer, moqt::RequestId request, FollowedPrefixes& prefixes,
                          const TrackNamespace& prefix) {
  if (peer.route) {
    return true;
  }
  const bool follows =
      prefixes.Want({peer.id, request}, prefix,
                    peer.is_relay() ? std::string() : peer.identity.name, relay_->now_);
  if (!follows) {
    relay_->metrics_.prefixes_refused.Add();
  }
  return follows;
}

void Relay::Above::Unfollow(const Peer& peer, moqt::RequestId request) {
  for (FollowedPrefixes* const prefixes : {&tracks, &namespaces}) {
    prefixes->Release({peer.id, request}, relay_->now_);
  }
}

bool Relay::Above::Hold(Peer& peer, const moqt::SubscribeTracksReceived& event) {
  if (peer.route || !tracks.IsToBeAnswered(event.prefix)) {
    return false;
  }
  held_.emplace(SubscriberId{peer.id, event.request},
                std::pair(relay_->now_ + relay_->limits_.follow_patience, event));
  return true;
}

void Relay::Above::Release(Peer& peer, moqt::RequestId request, bool answer) {
  const auto held = held_.extract({peer.id, request});
  if (!held) {
    return;
  }
  if (answer) {
    relay_->AnswerSubscribeTracks(peer, held.mapped().second);
    relay_->Touch(peer.id);
  } else {
    Unfollow(peer, request);
  }
}

void Relay::Above::ReleaseAnswered() {
  std::vector<SubscriberId> over;
  for (const auto& [id, held] : held_) {
    if (held.first <= relay_->now_ || !tracks.IsToBeAnswered(held.second.prefix)) {
      over.push_back(id);
    }
  }
  for (const SubscriberId& id : over) {
    Release(relay_->peers_.at(id.peer), id.request, true);
  }
}

std::optional<moqt::RequestError> Relay::Above::RefusalToMove(const Peer& peer,
                                                              moqt::RequestId request,
                                                              const TrackNamespace& to) {
  const bool of_tracks = peer.prefixes.contains(request);
  const bool of_namespaces = peer.namespace_prefixes.contains(request);
  if ((of_tracks && relay_->TracksBelow(peer, to).size() > relay_->limits_.prefix_tracks_max) ||
      (of_namespaces && relay_->HasTooManyNamespaces(to))) {
    return Because(moqt::RequestCode::kNamespaceTooLarge, "Too much is below this prefix.");
  }
  if ((of_tracks && !Follow(peer, request, tracks, to)) ||
      (of_namespaces && !Follow(peer, request, namespaces, to))) {
    return relay_->Overloaded(kNoRoom);
  }
  return std::nullopt;
}

}  // namespace kvcast::relay
