#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/event.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

// One publication that a peer makes to us: where each of its streams is, and whether all that it
// sent has come.
class Publication {
 public:
  using Place = std::pair<uint64_t, uint64_t>;  // Group and subgroup.

  explicit Publication(TrackName track) : track_(std::move(track)) {}

  const TrackName& track() const { return track_; }

  // Gives the object before it on its stream, if there was one.
  std::optional<uint64_t> OnObject(const moqt::ReceivedObject& received);
  // Gives the end of the stream's group, if the stream has told it.
  std::optional<uint64_t> OnSubgroupEnd(const moqt::SubgroupEnd& end);
  // The publisher sends no more; what is under way may come until then.
  void OnDone(Instant deadline) { deadline_ = deadline; }

  // A stream was cut short: objects may exist that we never heard of.
  bool lost_some() const { return lost_some_; }
  // Subgroups that have begun and not ended.
  std::vector<Place> Open() const;
  std::optional<Instant> deadline() const { return deadline_; }

 private:
  struct Stream {
    Place place;
    uint64_t last = 0;
    bool ended = false;  // By an object that says so: no object follows.
  };

  TrackName track_;
  std::map<moqt::StreamId, Stream> streams_;
  bool lost_some_ = false;
  std::optional<Instant> deadline_;
};

}  // namespace kvcast::relay
