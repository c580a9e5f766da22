#include "kvcast/relay/upstream_peers.h"

#include <algorithm>
#include <utility>

namespace kvcast::relay {

UpstreamPeers::UpstreamPeers(std::vector<Route> routes) {
  for (Route& route : routes) {
    upstreams_.push_back({std::move(route), std::nullopt, {}});
  }
}

bool UpstreamPeers::AnyForgets() const {
  return std::ranges::any_of(upstreams_,
                             [](const Upstream& upstream) { return upstream.route.forgets; });
}

std::optional<PeerId> UpstreamPeers::Connect(size_t upstream, PeerId peer) {
  Upstream& to = upstreams_.at(upstream);
  const std::optional<PeerId> before = std::exchange(to.peer, peer);
  if (before) {
    to.leaving.push_back(*before);
  }
  return before;
}

void UpstreamPeers::Disconnect(PeerId peer) {
  for (Upstream& upstream : upstreams_) {
    std::erase(upstream.leaving, peer);
    if (upstream.peer == peer) {
      upstream.peer.reset();
    }
  }
}

std::optional<size_t> UpstreamPeers::Find(PeerId peer) const {
  const auto found = std::ranges::find(upstreams_, std::optional(peer), &Upstream::peer);
  return found == upstreams_.end() ? std::nullopt : std::optional(found - upstreams_.begin());
}

std::optional<size_t> UpstreamPeers::LongestFor(const TrackNamespace& space) const {
  std::optional<size_t> longest;
  for (const Upstream& upstream : upstreams_) {
    for (const TrackNamespace& prefix : upstream.route.prefixes) {
      if (prefix.IsPrefixOf(space)) {
        longest = std::max(longest, std::optional(prefix.field_count()));
      }
    }
  }
  return longest;
}

bool UpstreamPeers::Has(const Route& route, const TrackNamespace& space, size_t fields) {
  return std::ranges::any_of(route.prefixes, [&](const TrackNamespace& prefix) {
    return prefix.field_count() == fields && prefix.IsPrefixOf(space);
  });
}

std::vector<PeerId> UpstreamPeers::For(const TrackNamespace& space) const {
  std::vector<PeerId> peers;
  const std::optional<size_t> longest = LongestFor(space);
  for (const Upstream& upstream : upstreams_) {
    if (longest && upstream.peer && Has(upstream.route, space, *longest)) {
      peers.push_back(*upstream.peer);
    }
  }
  return peers;
}

std::vector<PeerId> UpstreamPeers::LeavingFor(const TrackNamespace& space) const {
  std::vector<PeerId> peers;
  const std::optional<size_t> longest = LongestFor(space);
  for (const Upstream& upstream : upstreams_) {
    if (longest && Has(upstream.route, space, *longest)) {
      peers.insert(peers.end(), upstream.leaving.begin(), upstream.leaving.end());
    }
  }
  return peers;
}

std::vector<std::string> UpstreamPeers::AwayFor(const TrackNamespace& space) const {
  std::vector<std::string> names;
  const std::optional<size_t> longest = LongestFor(space);
  for (const Upstream& upstream : upstreams_) {
    if (longest && !upstream.peer && Has(upstream.route, space, *longest)) {
      names.push_back(upstream.route.name);
    }
  }
  return names;
}

std::vector<PeerId> UpstreamPeers::Connected() const {
  std::vector<PeerId> peers;
  for (const Upstream& upstream : upstreams_) {
    if (upstream.peer) {
      peers.push_back(*upstream.peer);
    }
  }
  return peers;
}

std::vector<TrackNamespace> UpstreamPeers::Within(size_t upstream,
                                                  const TrackNamespace& wanted) const {
  std::vector<TrackNamespace> within;
  const std::optional<size_t> longest = LongestFor(wanted);
  for (const TrackNamespace& prefix : upstreams_.at(upstream).route.prefixes) {
    if (prefix.IsPrefixOf(wanted) && prefix.field_count() == longest) {
      within.push_back(wanted);
    } else if (wanted.IsPrefixOf(prefix) && prefix != wanted) {
      within.push_back(prefix);
    }
  }
  return within;
}

}  // namespace kvcast::relay
