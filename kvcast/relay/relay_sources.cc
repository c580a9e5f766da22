// Whom a relay asks for what it does not have.
#include <algorithm>
#include <vector>

#include "kvcast/relay/canary.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {

bool Relay::Above::HasAnnounced(const Peer& peer, const TrackNamespace& space) {
  return std::ranges::any_of(peer.namespaces,
                             [&](const auto& each) { return each.second.IsPrefixOf(space); });
}

// What one upstream asks us for is asked of nobody upstream: a request that has gone down does not
// go up again, and so it goes round in no circle.
std::vector<PeerId> Relay::Above::SourcesOf(const Peer& asker, const TrackName& track) const {
  std::vector<PeerId> sources;
  if (Canary::IsBelow(track.space())) {
    return sources;
  }
  const auto add = [&](PeerId id) {
    // An upstream that is leaving is asked for nothing more, but may bring it already.
    const Peer& peer = relay_->peers_.at(id);
    if (id != asker.id && (!peer.leaving || peer.route) &&
        std::ranges::find(sources, id) == sources.end()) {
      sources.push_back(id);
    }
  };
  // Who publishes it, if it can be asked for what lies before. A node below that was asked for it
  // may know less of it than those upstream do.
  if (const auto publishers = relay_->published_.find(track);
      publishers != relay_->published_.end()) {
    for (const SubscriberId& id : publishers->second) {
      const Peer& peer = relay_->peers_.at(id.peer);
      const bool pushed = !peer.upstream.contains(id.request);
      if (peer.route ? !asker.route : pushed && HasAnnounced(peer, track.space())) {
        add(id.peer);
      }
    }
  }
  if (!asker.route) {
    for (const PeerId id : upstreams.For(track.space())) {
      add(id);
    }
    for (const PeerId id : upstreams.LeavingFor(track.space())) {
      add(id);
    }
  }
  for (size_t fields = track.space().field_count() + 1;
       fields-- > 0 && !relay_->announced_.empty();) {
    const auto owners = relay_->announced_.find(track.space().First(fields));
    if (owners == relay_->announced_.end()) {
      continue;
    }
    for (const SubscriberId& owner : owners->second) {
      if (!relay_->peers_.at(owner.peer).route) {
        add(owner.peer);
      }
    }
  }
  return sources;
}

bool Relay::Above::MayBring(const Peer& peer, const TrackNamespace& space) const {
  if (!peer.route) {
    return true;
  }
  const std::vector<TrackNamespace> within = upstreams.Within(*peer.route, space);
  return std::ranges::find(within, space) != within.end();
}

bool Relay::Above::IsAsked(const TrackName& track) const {
  const auto upstream = relay_->upstream_.find(track);
  return upstream != relay_->upstream_.end() && !upstream->second.asked.empty();
}

bool Relay::Above::IsAskedBelow(const TrackName& track) const {
  const auto upstream = relay_->upstream_.find(track);
  return upstream != relay_->upstream_.end() &&
         std::ranges::any_of(upstream->second.asked, [this](const auto& asked) {
           return !relay_->peers_.at(asked.first.peer).route;
         });
}

}  // namespace kvcast::relay
