#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// Whom a node asks for what it does not have: upstreams in the order in which they are preferred,
// each with the prefixes that it is asked for, and the sessions that stand.
//
// Of several prefixes that fit a name the longest decides, whether its upstreams are there or not:
// what one site keeps is not asked of another because the first is away.
class UpstreamPeers {
 public:
  struct Route {
    std::string name;  // For logs.
    std::vector<TrackNamespace> prefixes;
    bool hears = true;    // It is told of what is here.
    bool forgets = true;  // What it has forgotten is forgotten here, too.
  };

  explicit UpstreamPeers(std::vector<Route> routes);

  size_t size() const { return upstreams_.size(); }
  const Route& route(size_t upstream) const { return upstreams_.at(upstream).route; }

  // Whether what any of them has forgotten is forgotten here.
  bool AnyForgets() const;

  // The session stands, or has gone. One that stood before is leaving, and returned: what is under
  // way there still comes, until it has gone.
  std::optional<PeerId> Connect(size_t upstream, PeerId peer);
  void Disconnect(PeerId peer);
  std::optional<size_t> Find(PeerId peer) const;
  bool Has(PeerId peer) const { return Find(peer).has_value(); }

  // Whether any is to be asked for what is in the namespace, connected or not.
  bool Covers(const TrackNamespace& space) const { return LongestFor(space).has_value(); }
  // Those to be asked, the best first.
  std::vector<PeerId> For(const TrackNamespace& space) const;
  // Those that they took the place of: they are asked for nothing, but may bring it already.
  std::vector<PeerId> LeavingFor(const TrackNamespace& space) const;
  // What those are called that are to be asked, and are not connected.
  std::vector<std::string> AwayFor(const TrackNamespace& space) const;
  // All that are connected.
  std::vector<PeerId> Connected() const;
  // Which prefixes an upstream is to be asked for, so that all that it may have below `wanted` is
  // heard of.
  std::vector<TrackNamespace> Within(size_t upstream, const TrackNamespace& wanted) const;

 private:
  struct Upstream {
    Route route;
    std::optional<PeerId> peer;
    std::vector<PeerId> leaving;
  };

  static bool Has(const Route& route, const TrackNamespace& space, size_t fields);
  // How many fields the longest prefix has that fits.
  std::optional<size_t> LongestFor(const TrackNamespace& space) const;

  std::vector<Upstream> upstreams_;
};

}  // namespace kvcast::relay
