#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "sim/lossy_link.h"
#include "sim/session_side.h"

namespace kvcast::sim {

struct SessionWorldCounts {
  uint64_t requests = 0;
  uint64_t refused = 0;
  uint64_t cancelled = 0;
  uint64_t updated = 0;
  uint64_t sent = 0;
  uint64_t taken = 0;
  uint64_t resets = 0;  // Streams of objects that did not end well.
  uint64_t lost = 0;
  uint64_t repeated = 0;
  uint64_t overtaken = 0;
  uint64_t broken = 0;
  uint64_t leaps = 0;     // Of time,
  uint64_t given_up = 0;  // and tracks of which a stream never came.
  uint64_t used_up = 0;   // Times that all streams were, and nothing taken;
  uint64_t put_out = 0;   // requests that had to make room for others;
  uint64_t late = 0;      // streams that took longer than their subscriber waits.

  void Add(const SessionWorldCounts& more);
};

// Two sessions and the link between them, which loses, repeats and reorders, with little credit and
// few streams; users who publish, subscribe, fetch, announce, change, answer, take and cancel at
// random. Time passes by leaps: whatever is under way arrives before anybody loses patience, and
// what waits to be sent or taken may wait for any time. In it:
//
//   what was taken from a stream is what was sent on it, in order, nothing else and nothing twice;
//   no side closes the session, and no more waits than its limits say;
//
// and once the faults stop and both have wound up:
//
//   every stream that ended well has been taken whole, and who is told that this was all has seen
//   each;
//   both sides agree on what became of every request: its end, its refusal, or who gave it up.
class SessionWorld {
 public:
  explicit SessionWorld(uint64_t seed);

  // Plays `steps` with faults, then lets things settle. Returns what was violated, if anything.
  std::string Play(size_t steps);

  const SessionWorldCounts& counts() const { return counts_; }
  // Of everything that came out, in order: equal for equal seeds.
  const Digest& history() const { return history_; }

 private:
  void Leap();
  void Settle();
  void CheckBounds();
  void CheckAll();
  void CheckRequest(moqt::RequestId id, const SessionRequest* asked, const SessionRequest* served);
  void CheckAgreement(const std::string& what, const SessionRequest& one,
                      const SessionRequest& other);
  void CheckDatagrams(const std::string& what, const SessionRequest::Stream& sent,
                      const SessionRequest::Stream& got);
  void CheckStreams(const std::string& what, const SessionRequest& sender,
                    const SessionRequest& receiver);
  void Count(const SessionRequest& request);
  void Violate(const std::string& what);

  Random random_;
  moqt::Limits limits_;
  SessionSide client_;
  SessionSide server_;
  LossyLink link_;
  Instant now_;
  bool breaks_;
  SessionWorldCounts counts_;
  Digest history_;
  std::string violation_;
};

}  // namespace kvcast::sim
