#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/upstream_peers.h"

namespace kvcast::relay {

// What those below want to hear of, asked of every upstream that may know: each is asked for as few
// prefixes as cover all that is wanted of it, however many want it.
//
// A prefix that nobody wants any more is followed for a while: whoever comes next finds what there
// is at once. It gives way where there is no more room.
class FollowedPrefixes {
 public:
  using SessionOf = std::function<moqt::Session*(PeerId)>;
  // How an upstream is asked: SUBSCRIBE_TRACKS, or SUBSCRIBE_NAMESPACE.
  using Ask = std::function<Result<moqt::RequestId>(moqt::Session&, const TrackNamespace&)>;
  FollowedPrefixes(const Limits& limits, const UpstreamPeers& upstreams, SessionOf session_of,
                   Ask ask)
      : limits_(&limits),
        upstreams_(&upstreams),
        session_of_(std::move(session_of)),
        ask_(std::move(ask)) {}

  // A request wants all below the prefix, and nothing else any more. False: there is no room, and
  // it wants what it did before. `who` is the identity that asks, which may have as many prefixes
  // as it leaves to others; empty: a relay, which asks for many.
  [[nodiscard]] bool Want(SubscriberId request, const TrackNamespace& prefix,
                          const std::string& who, Instant now);
  // The node itself wants all below the prefix from now on, whatever room there is.
  void Keep(const TrackNamespace& prefix, Instant now);
  // It wants nothing any more, if it ever did.
  void Release(SubscriberId request, Instant now);

  void OnConnected(PeerId peer, Instant now) {
    Update(peer, now);
    Schedule();
  }
  void OnPeerGone(PeerId peer) { asked_.erase(peer); }
  // The upstream has accepted. False: it is none of these requests.
  bool OnAccepted(PeerId peer, moqt::RequestId request);
  // Whether somebody upstream was asked for it, and has not answered.
  bool IsToBeAnswered(const TrackNamespace& prefix) const;
  // The upstream refuses, or has ended it: it is asked again after a while. False: it is none.
  bool OnOver(PeerId peer, moqt::RequestId request, Instant now);
  // The upstream does not publish all of it to us, and will not by this request: it is asked anew
  // after a while. False: it is none.
  bool OnBlocked(PeerId peer, moqt::RequestId request, Instant now);
  void OnTime(Instant now);
  std::optional<Instant> deadline() const { return deadline_; }

  bool Owns(PeerId peer, moqt::RequestId request) const;
  // Whether anybody wants what is in a namespace, or has done so lately.
  bool IsWanted(const TrackNamespace& space) const;
  // What upstreams are asked for no more since the last call.
  std::vector<std::pair<PeerId, TrackNamespace>> TakeLeft() { return std::exchange(left_, {}); }
  std::set<PeerId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  struct Wanted {
    size_t count = 0;
    std::string who;  // Who wanted it first, on whose account it is.
    Instant until;    // Where nobody does any more.
  };
  struct Asked {
    std::map<TrackNamespace, moqt::RequestId> prefixes;
    std::set<TrackNamespace> unanswered;
    std::set<TrackNamespace> incomplete;  // Of which it does not publish all.
    std::optional<Instant> again_at;
  };

  size_t CountOf(const std::string& who) const;
  // `leaves` is what the same request wanted before, if anything.
  bool HasRoom(const TrackNamespace& prefix, const std::string& who, const Wanted* leaves) const;
  void GiveWay();
  // The fewest prefixes that cover what is wanted of an upstream.
  std::set<TrackNamespace> CoverFor(size_t upstream) const;
  void Update(PeerId peer, Instant now);
  void UpdateAll(Instant now);
  // Asks for one more, unless it is covered.
  void Cover(PeerId peer, const TrackNamespace& prefix, Instant now);
  void AskFor(PeerId peer, Asked& asked, const TrackNamespace& prefix, Instant now);
  std::map<TrackNamespace, moqt::RequestId>::iterator Leave(
      PeerId peer, Asked& asked, std::map<TrackNamespace, moqt::RequestId>::iterator each);
  void Schedule();

  const Limits* limits_;
  const UpstreamPeers* upstreams_;
  SessionOf session_of_;
  Ask ask_;
  std::map<SubscriberId, TrackNamespace> requests_;  // What each wants.
  std::map<TrackNamespace, Wanted> wanted_;
  std::set<TrackNamespace> kept_;
  std::map<std::string, size_t> counts_;  // Of those that are wanted, by whose account.
  std::set<std::pair<Instant, TrackNamespace>> lingering_;  // Those that nobody wants any more.
  std::map<PeerId, Asked> asked_;
  std::optional<Instant> deadline_;
  std::vector<std::pair<PeerId, TrackNamespace>> left_;
  std::set<PeerId> touched_;
};

}  // namespace kvcast::relay
