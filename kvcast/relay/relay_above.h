#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/relay/early_objects.h"
#include "kvcast/relay/followed_prefixes.h"
#include "kvcast/relay/forget_follower.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/ring_watch.h"
#include "kvcast/relay/upstream_fetches.h"
#include "kvcast/relay/upstream_statuses.h"

namespace kvcast::relay {

// The side of a relay that asks: those upstream, and those who have told of namespaces, for what
// its peers want and it does not have.
class Relay::Above {
 public:
  Above(Relay& relay, const Options& options);

  UpstreamPeers upstreams;
  UpstreamFetches fetches;
  UpstreamStatuses statuses;
  FollowedPrefixes tracks;      // SUBSCRIBE_TRACKS,
  FollowedPrefixes namespaces;  // and SUBSCRIBE_NAMESPACE.
  EarlyObjects early;
  ForgetFollower forgets;

  // The session of an upstream stands; a peer has gone; a request of ours was refused, or one of
  // either side is over.
  void OnConnected(Peer& peer);
  void OnPeerGone(Peer& peer);
  bool OnRefused(Peer& peer, moqt::RequestId request, const moqt::RequestError& error);
  void OnCancelled(Peer& peer, moqt::RequestId request, const moqt::RequestError& error);
  void OnTime();
  std::optional<Instant> deadline() const;
  // Hands on what came, after every input.
  void Settle();

  // Who may have what of the track is not here, the best first; never who asks.
  std::vector<PeerId> SourcesOf(const Peer& asker, const TrackName& track) const;
  // Whether a fetch waits until somebody upstream says where it ends.
  End AwaitEnd(Peer& peer, const moqt::FetchReceived& event);
  // Whether the track goes on beyond the range, for all that is known, and has no more in it.
  bool IsNothingBeyond(const moqt::FetchReceived& event, Location largest) const;
  // False: there is nobody to ask for what the fetch stands before, and so it can go on.
  bool AskFor(Peer& peer, moqt::RequestId request, FetchAnswer& fetch);
  // Asks the best upstream that may have the track and was not asked yet for a subscription, unless
  // one is being asked; not `except`.
  void AskUpstream(const TrackName& track, std::optional<uint64_t> new_group,
                   const Peer* except = nullptr);
  // Of an upstream, whether this is below a prefix that it is asked for: it may bring nothing else.
  bool MayBring(const Peer& peer, const TrackNamespace& space) const;
  // Sessions of upstreams that are leaving, relay_moves.cc. Whether one that would be asked for
  // this is, and no other has taken its place yet.
  bool IsMoving(const TrackNamespace& space) const;
  // Who waits for the track does so until one has, for a while.
  void PutOff(const SubscriberId& id, Upstream::Waiting& waiting);
  // Whether an answer is to come of anybody who was asked for the track, or of those below.
  bool IsAsked(const TrackName& track) const;
  bool IsAskedBelow(const TrackName& track) const;
  // What requests of peers below want to hear of is asked of those upstream, each for one prefix at
  // a time. False: there is no room for it, and all stays as it was.
  [[nodiscard]] bool Follow(const Peer& peer, moqt::RequestId request, FollowedPrefixes& prefixes,
                            const TrackNamespace& prefix);
  void Unfollow(const Peer& peer, moqt::RequestId request);
  static constexpr const char* kNoRoom = "Upstreams are asked for too many prefixes.";
  // Follows another prefix for the request, or says why not.
  std::optional<moqt::RequestError> RefusalToMove(const Peer& peer, moqt::RequestId request,
                                                  const TrackNamespace& to);

  // Whether a SUBSCRIBE_TRACKS waits for those upstream to answer theirs.
  bool Hold(Peer& peer, const moqt::SubscribeTracksReceived& event);
  // It waits no longer: it is answered, or forgotten.
  void Release(Peer& peer, moqt::RequestId request, bool answer);

  // Forgetting, relay_forgotten.cc: what this node was told to, and what upstreams have.
  void NoteForgotten(const ForgetScope& scope);
  ForgetReport ForgetHere(const ForgetScope& scope);
  // An upstream has such a list, of which this is the last version; or one has come.
  void ReadForgetList(const Peer& peer, const TrackName& track, std::optional<Location> at);
  void OnForgetList(const Peer& peer, const TrackName& track, const Bytes& payload);

  // What is here, and what those below have, is offered to upstreams, relay_offers.cc: catalogs are
  // published to them, and namespaces announced. Not what comes from one of them.
  void Offer(const TrackName& track);
  void OfferSpace(const TrackNamespace& space);
  void WithdrawSpace(const TrackNamespace& space);
  // One of ours has gone: nobody follows it any more, and its namespace may be no longer ours.
  void EndCatalog(const TrackName& track);

  // One that we published to it was refused: it is offered again after a while, where that helps.
  void OnOfferRefused(const Peer& upstream, const moqt::RequestError& error);

  void OnRingQuestion(Peer& peer, const moqt::TrackStatusReceived& event);
  std::vector<size_t> TakeRings() { return std::exchange(found_, {}); }

 private:
  static std::function<moqt::Session*(PeerId)> SessionsOf(Relay& relay);
  std::string PeerName(PeerId id) const;
  // Whether what this one has forgotten is forgotten here, too.
  bool Obeys(const Peer& peer) const { return peer.route && upstreams.route(*peer.route).forgets; }
  static bool HasAnnounced(const Peer& peer, const TrackNamespace& space);

  // What one upstream was asked for is asked of the session that has taken its place; and those are
  // left at which nothing is under way any more.
  void Move(Peer& from, const Peer& to);
  void PutOffNoMore(Upstream& upstream);
  void LeaveMoved();
  bool IsBringing(const Peer& peer) const;

  void OfferAll(Peer& upstream);
  void OfferTo(Peer& upstream, const TrackName& track);
  void OfferSpaceTo(Peer& upstream, const TrackNamespace& space);
  void OfferPostponed();
  void OfferAgain();
  void OnOfferOver(const Peer& upstream, moqt::RequestId request, const moqt::RequestError& error);

  void FillFetches();
  template <typename Outcome>
  void Act(const Outcome& outcome);
  FetchAnswer* FindFetch(const SubscriberId& id);
  void TakeStatuses();
  // Ends publications that an upstream makes because it was asked for all below a prefix, and
  // nobody wants.
  void LeaveUnwanted();
  void AskForRings();
  // Lists are fetched as if this peer asked.
  static constexpr PeerId kListReader = ~PeerId{0};
  struct ListRead {
    PeerId peer;
    TrackName track;
    Location at;
    std::optional<Instant> again_at;  // It has failed.
  };
  struct ToForget {
    ForgetFollower::Batch batch;
    size_t route;
    Instant again_at;
  };
  bool TakeForgetList(const UpstreamFetches::Outcome& outcome);
  void AskForForgetList(moqt::RequestId id, ListRead& read);
  void FollowForgotten();
  bool ForgetBatch(const ToForget& each);
  void ReleaseAnswered();

  Relay* relay_;
  std::map<SubscriberId, std::pair<Instant, moqt::SubscribeTracksReceived>> held_;
  RingWatch rings_;
  Instant ask_for_rings_at_;
  std::vector<size_t> found_;        // Upstreams that lead back to us.
  std::map<PeerId, Instant> moved_;  // Sessions that another has taken the place of; until when.
  std::map<PeerId, std::map<TrackNamespace, moqt::RequestId>> offered_;  // Namespaces.
  // Catalogs that have begun again, while the upstream has yet to hear of their end.
  std::set<std::pair<PeerId, TrackName>> postponed_offers_;
  std::map<PeerId, Instant> offer_again_;  // Those that had no room for all.
  std::map<moqt::RequestId, ListRead> list_reads_;
  moqt::RequestId last_list_read_ = 0;
  std::vector<ToForget> to_forget_;
};

}  // namespace kvcast::relay
