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
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/peer.h"
#include "kvcast/relay/prefix_book.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/relay/stock.h"
#include "kvcast/relay/upstream.h"

namespace kvcast::relay {

// What a node decides: it takes publications from any peer, keeps their objects, lists whole blocks
// in its catalogs, and answers FETCH, SUBSCRIBE, SUBSCRIBE_TRACKS and TRACK_STATUS from what it
// has.
//
// It is the origin of what was pushed to it: a track outlives its publisher for as long as there is
// room. A group that never became whole is served as far as it came, and never listed.
//
// It owns no session: whoever does tells it when one has had input, and afterwards looks at
// TakeTouched(), since what comes from one peer makes it act on others.
class Relay {
 public:
  struct Options {
    size_t ram_bytes = size_t{4} << 30;
    // Of ram_bytes, by tenant: what others cannot evict. REQUIRES: RamTier::Of() takes them.
    std::map<std::string, uint64_t> reservations{};
    ChunkPool* payload_chunks = nullptr;  // Where sessions put payloads; outlives the relay.
    NodeId node{};
    BootId boot{};
    uint64_t secret = 0;  // Random: what peers name and key must not collide at their will.
    Limits limits;
    uint64_t epoch_us = 0;  // What the time of day is at Instant(), in microseconds since 1970.
    uint64_t demoting_bytes_max = uint64_t{64} << 20;  // On their way from RAM to tiers below.
    ReadDesk::Limits reads;
  };

  Relay(const Options& options, Metrics& metrics, LogSink* log = nullptr);

  // Tiers below RAM, the fastest first, before anything else. Whoever drives one calls OnTimeout()
  // when it has had input.
  void AddTier(TierKind kind, std::unique_ptr<LowerTier> tier,
               std::unique_ptr<Admission> admission = nullptr) {
    stock_.AddTier(kind, std::move(tier), std::move(admission));
  }
  // Every tier is ready, and what it holds is listed.
  bool opened() const { return stock_.opened(); }
  // What tiers hold that are ready is listed; others may come later.
  bool listed() const { return stock_.listed(); }

  // Whoever is about to stop calls it before the tiers are closed.
  void Flush(Instant now) { stock_.store().TellAll(now); }

  // A server's session takes part until Leave(), which must come before its end.
  PeerId Join(moqt::Session& session);
  void Leave(PeerId peer);

  // The session may have events, or more room: call it after everything that its connection told
  // it.
  void OnInput(PeerId peer, Instant now);
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const;

  // Peers whose sessions may have actions since the last call.
  std::vector<PeerId> TakeTouched();

  // For who shows it.
  size_t peer_count() const { return peers_.size(); }
  size_t stored_bytes() { return stock_.store().ram().bytes(); }
  size_t listed_blocks() const { return stock_.catalogs().block_count(); }

 private:
  // What may come until then: the answer to a request of ours, or a publisher for a request of the
  // peer's.
  struct Ending {
    Instant at;
    PeerId peer = 0;
    moqt::RequestId request = 0;

    friend auto operator<=>(const Ending&, const Ending&) = default;
  };

  // Requests of a peer's, relay_requests.cc.
  void On(Peer& peer, const moqt::PublishReceived& event);
  Result<Durability> DurabilityFor(const moqt::PublishReceived& event) const;
  void On(Peer& peer, const moqt::SubscribeReceived& event);
  void On(Peer& peer, const moqt::FetchReceived& event);
  void On(Peer& peer, const moqt::TrackStatusReceived& event);
  void On(Peer& peer, const moqt::SubscribeTracksReceived& event);
  void On(Peer& peer, const moqt::UpdateReceived& event);
  void AnswerSubscribe(Peer& peer, moqt::RequestId request, const TrackName& track,
                       const moqt::Parameters& parameters);
  bool Publishes(const Peer& peer, const TrackName& track) const;
  // Whether anybody publishes the track without having been asked for it by us.
  bool IsPushed(const TrackName& track) const;
  // Those that the peer does not publish itself.
  std::vector<TrackName> TracksBelow(const Peer& peer, const TrackNamespace& prefix) const;
  void Refuse(Peer& peer, moqt::RequestId request, moqt::RequestCode code, std::string reason);
  void Refuse(Peer& peer, moqt::RequestId request, const moqt::RequestError& error);
  moqt::RequestError Overloaded(std::string reason) const;
  void RefuseUnanswered(Peer& peer, moqt::RequestId request);
  void RefuseUnknown(Peer& peer, moqt::RequestId request, const TrackName& track);
  void PublishTo(Peer& peer, moqt::RequestId tracks, const TrackName& track);
  void PublishPostponed(Peer& peer);
  void Announce(const TrackName& track, const Peer* publisher);
  // Passes on that a subscriber wants a group begun; the value is as NEW_GROUP_REQUEST has it.
  void AskForNewGroup(const TrackName& track, uint64_t group);

  // Namespaces that peers have told of, and what is asked of them, relay_namespaces.cc.
  void On(Peer& peer, const moqt::PublishNamespaceReceived& event);
  void On(Peer& peer, const moqt::SubscribeNamespaceReceived& event);
  void AnnounceBelow(Peer& peer, moqt::RequestId request, const TrackNamespace& prefix);
  // Whether more is below the prefix than the request may be told of.
  bool IsTooLarge(const Peer& peer, moqt::RequestId request, const TrackNamespace& prefix) const;
  bool HasTooManyNamespaces(const TrackNamespace& prefix) const;
  void MovePrefix(Peer& peer, moqt::RequestId request, const TrackNamespace& to);
  void ForgetPrefix(Peer& peer, moqt::RequestId request);
  void Withdraw(Peer& peer, moqt::RequestId request);
  // Whether peers were asked for a track that nobody publishes now, or are waited for, and so the
  // subscription waits.
  bool AwaitUpstream(Peer& peer, const moqt::SubscribeReceived& event);
  // Asks all who have told of a namespace above the track; whether an answer is to come, or would,
  // had there been room to ask.
  enum class Asking : uint8_t { kNobody, kNoRoom, kAsked };
  Asking AskAnnouncers(const TrackName& track, std::optional<uint64_t> new_group);
  // Whether anybody has told of a namespace above the track.
  bool IsAnnounced(const TrackName& track) const;
  // Whether anybody was asked for the track, and has not refused.
  bool IsAsked(const TrackName& track) const;
  // False if the peer cannot be asked for anything now, or is about to leave.
  bool AskPeer(Peer& peer, const TrackName& track, std::optional<uint64_t> new_group);
  // For all that others want below its namespace.
  void AskForWanted(Peer& peer, const TrackNamespace& space);
  void OnUpstreamAnswer(Peer& peer, const moqt::RequestAccepted& event);
  // `refusal` is what the peer said, unless it has just left.
  void OnUpstreamGone(Peer& peer, moqt::RequestId request,
                      const std::optional<moqt::RequestError>& refusal);
  // What was asked of the peer is over; false if it was not asked.
  bool ForgetAsked(Peer& peer, moqt::RequestId request);
  // By the refusal, or, where nobody refused, from what is here.
  void AnswerWaiting(const TrackName& track, const std::optional<moqt::RequestError>& refusal);
  void StopWaiting(Peer& peer, moqt::RequestId request);
  void OnRendezvousOver(const Ending& ending);
  // Unless somebody wants the track.
  void LeaveUpstream(const TrackName& track);
  // The peer publishes by itself what it was asked for, and its PUBLISH is to come, or has come.
  void ExpectPublish(Peer& peer, moqt::RequestId request);
  void OnPublished(const TrackName& track);
  void OnAnswerOverdue(PeerId peer, moqt::RequestId request);

  // How long a subscription of the track waits for the rest of its range.
  Duration RangePatience(const Properties& properties) const;
  // Whether anything of the range is on its way to us.
  bool IsComing(const TrackName& track, const LocationRange& range) const;
  // Whether a subscription to the range would bring nothing.
  bool IsPast(const TrackName& track, const LocationRange& wanted, const TrackFacts& facts) const;
  void EndRanges();

  // What happens to them later.
  void On(Peer& peer, const moqt::RequestAccepted& event);
  void On(Peer& peer, const moqt::RequestRefused& event);
  void On(Peer& peer, const moqt::RequestCancelled& event);
  void On(Peer& peer, const moqt::ObjectsReady& event);
  void On(Peer& peer, const moqt::SendRoom& event);
  void On(Peer& peer, const moqt::SubgroupStopped& event);
  void On(Peer& peer, const moqt::GoAwayReceived& event);
  void On(Peer& peer, const moqt::SessionClosed& event);
  // SetupDone, and answers to what a relay does not ask.
  template <typename Other>
  void On(Peer& peer, const Other& event) {
    (void)peer;
    (void)event;
  }

  // What a publication brings.
  using Publications = std::map<moqt::RequestId, Publication>;
  Result<void> Take(Publication& publication, const moqt::Received& item);
  bool IsToWait(const Publication& publication);
  void ContinueHeld();
  bool IsNewEnd(const TrackName& track, const Object& object) const;
  Result<void> TakeObject(Publication& publication, const moqt::ReceivedObject& received);
  Result<bool> Keep(const Publication& publication, const moqt::ReceivedObject& received);
  void OnTrackEnd(Peer& peer, Publications::iterator publication, const moqt::TrackEnd& end);
  // If it was the track's last, its audience is told why.
  void EndPublication(Peer& peer, Publications::iterator publication, moqt::DoneCode code,
                      const std::string& reason);
  void OnUnpublished(const TrackName& track, bool was_pushed, moqt::DoneCode code,
                     const std::string& reason);
  // Ends what others get of the track, as the draft demands.
  void OnMalformed(const TrackName& track, const std::string& reason);
  void Break(Peer& peer, Publications::iterator publication, const Error& error);
  void ForgetIfUnused(const TrackName& track);

  void Continue(Peer& peer, moqt::RequestId fetch);
  // Hands what tiers have read to the fetches that wait for it.
  void TakeReads();
  void WarmAfter(const TrackName& track, const LocationRange& range, moqt::GroupOrder order);
  void EndFetch(Peer& peer, std::map<moqt::RequestId, FetchAnswer>::iterator fetch);
  // Tells publishers what has become durable.
  void TakeAcks();
  void ForgetAcks();
  void ContinueCrowded(Peer& peer);
  void RemoveAll(Peer& peer);
  void Drain(Peer& peer);
  // Drains those who were acted upon, and tells catalogs' followers, until nothing is left to do.
  void Settle();
  void Touch(PeerId peer);

  Limits limits_;
  RelayMetrics metrics_;
  Log log_;
  Stock stock_;
  Audience audience_;
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
};

}  // namespace kvcast::relay
