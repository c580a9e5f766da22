#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/metrics.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/ending.h"
#include "kvcast/relay/forget_scope.h"
#include "kvcast/relay/gate.h"
#include "kvcast/relay/miss_log.h"
#include "kvcast/relay/peer.h"
#include "kvcast/relay/prefix_book.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/relay/relay_options.h"
#include "kvcast/relay/stock.h"
#include "kvcast/relay/upstream.h"
#include "kvcast/relay/upstream_status.h"

namespace kvcast::relay {

// What a node decides: it takes publications from any peer, keeps their objects, lists whole blocks
// in its catalogs, and answers requests from what it has, or from what others upstream have.
//
// It is the origin of what was pushed to it: a track outlives its publisher for as long as there is
// room. A group that never became whole is served as far as it came, and never listed.
//
// It owns no session: whoever does tells it when one has had input, and afterwards looks at
// TakeTouched(), since what comes from one peer makes it act on others.
class Relay {
 public:
  using Options = RelayOptions;

  Relay(const Options& options, Metrics& metrics, LogSink* log = nullptr);
  ~Relay();

  // Below RAM, the fastest first, before anything else; OnTimeout() when one has had input.
  void AddTier(TierKind kind, std::unique_ptr<LowerTier> tier,
               std::unique_ptr<Admission> admission = nullptr) {
    stock_.AddTier(kind, std::move(tier), std::move(admission));
  }
  // Every tier is ready, and what it holds is listed; or what those hold that are ready.
  bool opened() const { return stock_.opened(); }
  bool listed() const { return stock_.listed(); }
  // Whoever is about to stop calls it before the tiers are closed.
  void Flush(Instant now) { stock_.store().TellAll(now); }

  // A server's session takes part until Leave(), before its end. Another relay counts a guest.
  PeerId Join(moqt::Session& session, Credential credential = {}, bool guest = false);
  // The same of one that we have opened ourselves, to the upstream with this number.
  PeerId JoinUpstream(moqt::Session& session, size_t upstream);
  void Leave(PeerId peer);
  // A session of the node's own, which alone may publish where canaries do, and while which nothing
  // is counted. It leaves before anybody else is heard, and with it the track that it published.
  PeerId JoinUncounted(moqt::Session& session, Instant now);
  void LeaveUncounted(PeerId peer, const TrackName& track);

  void SetLimits(const Limits& limits);  // From now on.
  const Limits& limits() const { return limits_; }
  // The session may have events, or more room, after everything that its connection told it.
  void OnInput(PeerId peer, Instant now);
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const;

  // Removes what is meant from every tier and from the catalogs, and breaks off whoever publishes
  // it: it stays away until it is published anew. Call it again until it is complete (kAgain).
  ForgetReport Forget(const ForgetScope& scope, Instant now, ForgetMode mode = ForgetMode::kNow);
  // What is to be known of it after a restart; null if that has not changed since the last call.
  const ForgetMemory* TakeForgotten();
  // Other rules hold from now on, and certificates of peers say this; who may not stay is closed.
  void ReplaceAccess(Access::Options access, const Credentials& credentials, Instant now);

  // Peers whose sessions may have actions since the last call.
  std::vector<PeerId> TakeTouched();
  // Upstreams that were found to lead back to us since the last call: to be left.
  std::vector<size_t> TakeRings();

  size_t peer_count() const { return peers_.size(); }
  size_t stored_bytes() { return stock_.store().ram().bytes(); }
  size_t stored_objects() { return stock_.store().ram().object_count(); }
  uint64_t pinned_bytes() { return stock_.store().ram().pinned_bytes(); }  // For these:
  size_t fetch_count() const;  // Fetches of peers that are being answered.
  size_t listed_blocks() const { return stock_.catalogs().block_count(); }
  const MissLog& misses() const { return misses_; }
  size_t catalog_count() const { return stock_.catalogs().catalog_count(); }

 private:
  // Requests of a peer's, relay_requests.cc and relay_followers.cc.
  void On(Peer& peer, const moqt::PublishReceived& event);
  Result<Durability> DurabilityFor(const moqt::PublishReceived& event) const;
  void On(Peer& peer, const moqt::SubscribeReceived& event);
  void On(Peer& peer, const moqt::FetchReceived& event);
  void On(Peer& peer, const moqt::TrackStatusReceived& event);
  void On(Peer& peer, const moqt::SubscribeTracksReceived& event);
  void AnswerSubscribeTracks(Peer& peer, const moqt::SubscribeTracksReceived& event);
  void On(Peer& peer, const moqt::UpdateReceived& event);
  void AnswerSubscribe(Peer& peer, moqt::RequestId request, const TrackName& track,
                       const moqt::Parameters& parameters);
  bool Publishes(const Peer& peer, const TrackName& track) const;
  // Whether anybody publishes the track without having been asked for it by us.
  bool IsPushed(const TrackName& track) const;
  bool IsFromAbove(const TrackName& track) const;
  // Those that the peer does not publish itself.
  std::vector<TrackName> TracksBelow(const Peer& peer, const TrackNamespace& prefix) const;
  void Refuse(Peer& peer, moqt::RequestId request, moqt::RequestCode code, std::string reason);
  void Refuse(Peer& peer, moqt::RequestId request, const moqt::RequestError& error);
  moqt::RequestError Overloaded(std::string reason) const;
  void RefuseUnanswered(Peer& peer, moqt::RequestId request);
  void PublishTo(Peer& peer, moqt::RequestId tracks, const TrackName& track);
  void PublishPostponed(Peer& peer);
  void Announce(const TrackName& track, const Peer* publisher);
  // Passes on that a subscriber wants a group begun, as NEW_GROUP_REQUEST has it.
  void AskForNewGroup(const TrackName& track, uint64_t group);

  // What is not here is asked of others, relay_above.h.
  class Above;
  // Where a fetch ends: here it is known, or somebody upstream is to say, or nobody can.
  enum class End : uint8_t { kKnown, kToCome, kOutOfReach };
  void AnswerFetch(Peer& peer, const moqt::FetchReceived& event, End end);
  moqt::RequestError OutOfReach() const;
  // `told` is what somebody upstream has said, if anybody did.
  void AnswerStatus(Peer& peer, moqt::RequestId request, const TrackName& track,
                    const UpstreamStatus& told);

  // Namespaces that peers have told of, and what is asked of them, relay_namespaces.cc.
  void On(Peer& peer, const moqt::PublishNamespaceReceived& event);
  void On(Peer& peer, const moqt::SubscribeNamespaceReceived& event);
  void On(Peer& peer, const moqt::NamespaceReceived& event);
  void On(Peer& peer, const moqt::NamespaceWithdrawn& event);
  void Unannounce(Peer& peer, const TrackNamespace& space);
  void EraseOwner(const TrackNamespace& space, SubscriberId owner);
  void AnnounceBelow(Peer& peer, moqt::RequestId request, const TrackNamespace& prefix);
  bool HasTooManyNamespaces(const TrackNamespace& prefix) const;
  void MovePrefix(Peer& peer, moqt::RequestId request, const TrackNamespace& to);
  void ForgetPrefix(Peer& peer, moqt::RequestId request);
  void Withdraw(Peer& peer, moqt::RequestId request);
  // Whether peers were asked for the track, or are waited for, and so the subscription waits.
  bool AwaitUpstream(Peer& peer, const moqt::SubscribeReceived& event);
  // Asks all who may have the track; whether an answer is to come, or would, were there room.
  enum class Asking : uint8_t { kNobody, kNoRoom, kAsked };
  Asking AskAnnouncers(const TrackName& track, std::optional<uint64_t> new_group, bool upstream);
  bool AskPeer(Peer& peer, const TrackName& track, std::optional<uint64_t> new_group);
  void AskForWanted(Peer& peer, const TrackNamespace& space);
  void OnUpstreamAnswer(Peer& peer, const moqt::RequestAccepted& event);
  // `refusal` is what the peer said, unless it has just left.
  void OnUpstreamGone(Peer& peer, moqt::RequestId request,
                      const std::optional<moqt::RequestError>& refusal);
  bool ForgetAsked(Peer& peer, moqt::RequestId request);
  // By the refusal, or, where nobody refused, from what is here: all, or those above.
  void AnswerWaiting(const TrackName& track, const std::optional<moqt::RequestError>& refusal,
                     bool above_only = false);
  void StopWaiting(Peer& peer, moqt::RequestId request);
  void OnRendezvousOver(const Ending& ending);
  void LeaveUpstream(const TrackName& track);
  // The peer publishes by itself what it was asked for, and its PUBLISH is to come, or has come.
  void ExpectPublish(Peer& peer, moqt::RequestId request);
  void OnPublished(const TrackName& track);
  void OnAnswerOverdue(PeerId peer, moqt::RequestId request);

  Duration RangePatience(const Properties& properties) const;
  bool IsComing(const TrackName& track, const LocationRange& range) const;
  // Whether a subscription to the range would bring nothing.
  bool IsPast(const TrackName& track, const LocationRange& wanted, const TrackFacts& facts) const;
  void EndRanges();

  void On(Peer& peer, const moqt::RequestAccepted& event);
  void On(Peer& peer, const moqt::RequestRefused& event);
  void On(Peer& peer, const moqt::RequestCancelled& event);
  void On(Peer& peer, const moqt::ObjectsReady& event);
  void On(Peer& peer, const moqt::SendRoom& event);
  void On(Peer& peer, const moqt::SubgroupStopped& event);
  void On(Peer& peer, const moqt::GoAwayReceived& event);
  void On(Peer& peer, const moqt::SessionClosed& event);
  void On(Peer& peer, const moqt::FetchAccepted& event);
  void On(Peer& peer, const moqt::SetupDone& event);
  void On(Peer& peer, const moqt::PublishBlockedReceived& event);
  // Answers to what a relay does not ask.
  template <typename Other>
  void On(Peer&, const Other&) {}

  // What a publication brings.
  using Publications = std::map<moqt::RequestId, Publication>;
  Result<void> Take(Publication& publication, const moqt::Received& item);
  bool IsToWait(const Publication& publication);
  void ContinueHeld();
  bool IsNewEnd(const TrackName& track, const Object& object) const;
  Result<void> TakeObject(Publication& publication, const moqt::ReceivedObject& received);
  Result<bool> Keep(const Publication& publication, const moqt::ReceivedObject& received);
  void OnTrackEnd(Peer& peer, Publications::iterator publication, const moqt::TrackEnd& end);
  void EndPublication(Peer& peer, Publications::iterator publication, moqt::DoneCode code,
                      const std::string& reason);
  void OnUnpublished(const TrackName& track, bool was_pushed, moqt::DoneCode code,
                     const std::string& reason);
  void OnMalformed(const TrackName& track, const std::string& reason);
  void Break(Peer& peer, Publications::iterator publication, const Error& error);
  void ForgetIfUnused(const TrackName& track);
  void BreakOff(const ForgetScope& scope);

  void Continue(Peer& peer, moqt::RequestId fetch);
  void TakeReads();
  void WarmAfter(const TrackName& track, const LocationRange& range, moqt::GroupOrder order);
  void NoteMiss(Miss miss);
  void EndFetch(Peer& peer, std::map<moqt::RequestId, FetchAnswer>::iterator fetch);
  void TakeAcks();
  void ForgetAcks();
  void ContinueCrowded(Peer& peer);
  void RemoveAll(Peer& peer);
  void Drain(Peer& peer);
  void Settle();  // Until nothing is left to do.
  void Touch(PeerId peer);

  Limits limits_;
  RelayMetrics metrics_;
  Log log_;
  friend class Gate;
  Gate gate_;  // What every request of a peer's passes first.
  Stock stock_;
  Audience audience_;
  MissLog misses_;
  std::function<bool(const TrackNamespace&)> owns_;  // Empty: all of them.
  std::map<PeerId, Peer> peers_;
  std::set<Ending> answers_due_;
  std::set<Ending> rendezvous_;  // Until when requests of peers wait for a publisher.
  std::map<TrackName, std::set<SubscriberId>> published_;       // Who publishes each track now.
  std::map<TrackNamespace, std::set<SubscriberId>> announced_;  // Who has tracks below each.
  PrefixBook track_followers_;                                  // Who has sent SUBSCRIBE_TRACKS,
  PrefixBook namespace_followers_;                              // and SUBSCRIBE_NAMESPACE.
  std::map<TrackName, Upstream> upstream_;
  std::set<SubscriberId> held_;                // Publications that wait for what is to be durable.
  std::map<StoreTicket, SubscriberId> reads_;  // Which fetch waits for each.
  PinOwner last_pin_ = 0;
  PeerId next_peer_ = 0;
  Instant now_;
  std::set<PeerId> to_drain_;
  std::set<PeerId> touched_;
  std::unique_ptr<Above> above_;
};

}  // namespace kvcast::relay
