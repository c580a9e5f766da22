#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/live_object.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/relay/subscription.h"

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
  Audience(const Limits& limits, RelayMetrics& metrics) : limits_(&limits), metrics_(&metrics) {}

  void Add(SubscriberId id, moqt::Session& session, const TrackName& track,
           const LocationRange& wanted);
  // Null if there is none.
  Subscription* Find(SubscriberId id);
  const TrackName* TrackOf(SubscriberId id) const;
  // The subscription is over, or its session is: nothing is sent to it any more.
  void Remove(SubscriberId id);
  void RemovePeer(PeerId peer);

  bool Has(const TrackName& track) const { return tracks_.contains(track); }
  size_t CountOf(PeerId peer) const;
  std::vector<TrackName> TracksBelow(const TrackNamespace& prefix) const;

  void Forward(const TrackName& track, const LiveObject& live);
  void EndSubgroup(const TrackName& track, uint64_t group, uint64_t subgroup, bool complete);
  // Ends every subscription of a track.
  void EndTrack(const TrackName& track, moqt::DoneCode code, const std::string& reason);

  // Tracks that have lost their last subscriber since the last call.
  std::set<TrackName> TakeDeserted() { return std::exchange(deserted_, {}); }
  // Peers to whose sessions something was done since the last call.
  std::set<PeerId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  struct Member {
    Subscription subscription;
    TrackName track;
  };

  void Erase(std::map<SubscriberId, Member>::iterator member);
  bool TooFarBehind(const Subscription& subscription) const;

  const Limits* limits_;
  RelayMetrics* metrics_;
  std::map<SubscriberId, Member> members_;
  std::map<TrackName, std::set<SubscriberId>> tracks_;
  std::map<PeerId, size_t> counts_;  // How many each peer has.
  std::set<TrackName> deserted_;
  std::set<PeerId> touched_;
};

}  // namespace kvcast::relay
