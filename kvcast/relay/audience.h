#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/live_object.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/relay/send_shares.h"
#include "kvcast/relay/subscription.h"
#include "kvcast/store/track_facts.h"

namespace kvcast::relay {

using PeerId = uint64_t;

// Names a subscription: who has it, and which request of theirs or ours it is.
struct SubscriberId {
  PeerId peer = 0;
  moqt::RequestId request = 0;

  friend auto operator<=>(const SubscriberId&, const SubscriberId&) = default;
};

// Everyone who is subscribed, by track. One who does not keep up is ended, and delays nobody.
class Audience {
 public:
  // What waits for its members is told to `shares`, which outlive it, as the others do.
  Audience(const Limits& limits, SendShares& shares, RelayMetrics& metrics)
      : limits_(&limits), shares_(&shares), metrics_(&metrics) {}

  enum class By : uint8_t { kSubscribe, kPublish };  // Whose request it is: the peer's, or ours.
  // `facts` are what is known of the track by now; `patience` is how long it may take until all of
  // the range has come, once the track has gone past it.
  void Add(SubscriberId id, By by, moqt::Session& session, const TrackName& track,
           const LocationRange& wanted, const TrackFacts& facts, Duration patience);
  bool Contains(SubscriberId id) const { return members_.contains(id); }
  // The subscriber wants something else now, or has stopped one stream.
  void Update(SubscriberId id, const moqt::Parameters& parameters, const TrackFacts& facts);
  void OnStopped(SubscriberId id, moqt::StreamId stream);
  // Null if there is no such subscription.
  const TrackName* TrackOf(SubscriberId id) const;
  // The subscription is over, or its session is: nothing is sent to it any more.
  void Remove(SubscriberId id);
  void RemovePeer(PeerId peer);
  // It is too far behind, and hears so.
  void Cut(SubscriberId id, const std::string& reason);

  bool Has(const TrackName& track) const { return tracks_.contains(track); }
  bool Has(PeerId peer, const TrackName& track) const;
  // How many tracks a peer gets, and how many of them are published to it beside what it has
  // subscribed to.
  size_t CountOf(PeerId peer) const;
  size_t PublishedTo(PeerId peer) const;
  // The tracks that have subscribers, with those.
  const std::map<TrackName, std::set<SubscriberId>>& tracks() const { return tracks_; }

  void Forward(const TrackName& track, const LiveObject& live, Instant now);
  // An object came that is here already, and is not forwarded.
  void PassOver(const TrackName& track, const Object& object);
  // What those who are subscribed by now are not sent may have come to somebody else: its publisher
  // has gone, or a new one has sent so much of it before.
  void OnPublisherGone(const TrackName& track);
  void OnPublisher(const TrackName& track, Location largest);
  // So much of the track does not exist, says an object that was forwarded before.
  void OnGaps(const TrackName& track, std::span<const LocationRange> gaps);
  void EndSubgroup(const TrackName& track, uint64_t group, uint64_t subgroup, bool complete,
                   Instant now);
  // Ends every subscription of a track. `lacks_some`: more of it may exist than came to us.
  void EndTrack(const TrackName& track, moqt::DoneCode code, const std::string& reason,
                bool lacks_some = false);

  // What a node knows of a track that decides whether more of a range may come.
  struct Knowledge {
    std::function<std::optional<GroupFacts>(const TrackName&, uint64_t group)> group;
    // The first group, from this one on, of which anything is known.
    std::function<std::optional<uint64_t>(const TrackName&, uint64_t group)> group_from;
    // Whether anything of the range is on its way to us.
    std::function<bool(const TrackName&, const LocationRange&)> is_coming;
  };
  // Ends subscriptions whose range is over, or was left alone for too long. To be called after
  // everything that may have changed that, and at deadline().
  void EndRanges(const Knowledge& known, Instant now);
  std::optional<Instant> deadline() const;

  // Tracks that have lost their last subscriber since the last call.
  std::set<TrackName> TakeDeserted() { return std::exchange(deserted_, {}); }
  // Peers to whose sessions something was done since the last call.
  std::set<PeerId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  struct Member {
    Subscription subscription;
    By by;
    TrackName track;
    Duration patience;
    std::optional<Location> largest;  // That it was told of, or sent.
    bool lacks_some = false;
    std::optional<Instant> due{};  // As it stands in due_.
  };

  void Erase(std::map<SubscriberId, Member>::iterator member);
  bool TooFarBehind(PeerId peer, const Subscription& subscription) const;
  void SetDue(SubscriberId id, Member& member, std::optional<Instant> due);

  const Limits* limits_;
  SendShares* shares_;
  RelayMetrics* metrics_;
  std::map<SubscriberId, Member> members_;
  std::map<TrackName, std::set<SubscriberId>> tracks_;
  std::map<PeerId, size_t> counts_;     // How many each peer has,
  std::map<PeerId, size_t> published_;  // and how many of them are published to it.
  std::set<SubscriberId> moved_;        // Those with a range that may be over.
  std::set<std::pair<Instant, SubscriberId>> due_;
  std::set<TrackName> deserted_;
  std::set<PeerId> touched_;
};

}  // namespace kvcast::relay
