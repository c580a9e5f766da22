#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kvcast/base/time.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// Finds rings: upstreams that lead, over however many others, back to us.
//
// A node asks each upstream how a track stands that no one has (TRACK_STATUS), whose name tells the
// node and a number that only those hear who are asked. Every node passes the question on to its
// own upstreams, unless its own id is the larger one: so of a ring the question of exactly one
// member comes back to it, and exactly one gives an upstream up. docs/design/relaying.md tells why.
//
//   namespace ( "kvcast-ring", node id )    name: the number
class RingWatch {
 public:
  static constexpr std::string_view kSpace = "kvcast-ring";
  // Questions that were passed on, and are not again; and how many are within a second.
  static constexpr size_t kPassedMax = 1024;
  static constexpr size_t kPassedPerSecond = 64;

  RingWatch(const NodeId& node, uint64_t secret) : node_(node), secret_(secret) {}

  static bool IsQuestion(const TrackName& track);
  // What to ask an upstream.
  TrackName QuestionFor(PeerId upstream);
  void Forget(PeerId upstream);

  struct Answer {
    std::optional<PeerId> ring;  // This upstream leads back to us.
    bool pass_on = false;        // To all upstreams, but to who asked.
    bool ask = false;            // It was left to us: all upstreams are to be asked by us.
  };
  // REQUIRES: IsQuestion(track).
  Answer On(const TrackName& track, Instant now);

 private:
  bool MayPass(const TrackName& track, Instant now);

  NodeId node_;
  uint64_t secret_;
  uint64_t questions_ = 0;
  std::map<std::string, PeerId> asked_;  // By number.
  std::set<TrackName> passed_;
  std::deque<TrackName> passed_order_;
  Instant second_;
  size_t passed_in_second_ = 0;
  std::optional<Instant> asked_at_;
};

}  // namespace kvcast::relay
