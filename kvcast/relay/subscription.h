#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/moqt/session.h"
#include "kvcast/object/location.h"
#include "kvcast/relay/live_object.h"
#include "kvcast/relay/range_watch.h"
#include "kvcast/store/track_facts.h"

namespace kvcast::relay {

// One subscriber of one track: live objects go out on a stream per subgroup, in the order they
// came in.
//
// It never waits: whoever feeds it looks at queued_bytes() and ends it when they are too many.
class Subscription {
 public:
  // `facts` are what is known of the track by now.
  Subscription(moqt::Session& session, moqt::RequestId request, const LocationRange& wanted,
               const TrackFacts& facts)
      : session_(&session), request_(request), watch_(wanted, facts) {}

  // True if it was sent; it may lie outside the filter, or not be wanted now.
  bool Forward(const LiveObject& live, Instant now);
  // An object of the subgroup is passed over, since it is here already: unless it was sent, nobody
  // is to take the stream for whole.
  void PassOver(Location at, uint64_t subgroup);
  // The subgroup has no more objects, or nobody can tell: its stream ends, or is reset.
  void EndSubgroup(uint64_t group, uint64_t subgroup, bool complete, Instant now);
  // The subscriber stopped one stream: no more of that subgroup.
  void OnStopped(moqt::StreamId stream);
  void Update(const moqt::Parameters& parameters, const TrackFacts& facts);

  // Streams that are open are reset.
  void End(moqt::DoneCode code, std::string reason, bool lacks_some = false);
  // Nothing of the range follows: streams that are open end well, unless something was left out.
  void EndRange(const std::string& reason);
  // What is left of the range; only of use where that has an end.
  RangeWatch& watch() { return watch_; }
  // Whether any stream is open.
  bool is_sending() const;
  size_t queued_bytes() const { return session_->queued_bytes(request_); }
  size_t peer_queued_bytes() const { return session_->queued_bytes(); }

 private:
  struct Stream {
    std::optional<moqt::StreamId> id;  // While it is open.
    uint64_t last = 0;                 // The object that was sent on it last.
    bool stopped = false;              // The subscriber wants no more of the subgroup.
    bool omitted = false;              // It did not want some: the stream must not end well.
  };
  using Place = std::pair<uint64_t, uint64_t>;  // Group and subgroup.

  const LocationRange& wanted() const { return watch_.range(); }
  bool Open(Stream& stream, const LiveObject& live);
  void Close(Stream& stream, bool complete);
  void Reset(Stream& stream);
  bool IsBeforeStart(const Place& place, const Stream& stream) const;

  moqt::Session* session_;
  moqt::RequestId request_;
  RangeWatch watch_;
  std::map<Place, Stream> streams_;
};

}  // namespace kvcast::relay
