#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// How fast what is asked of a node comes, as its loads have seen it: how long until the first byte,
// and then how long for each. By rung, since one that takes long to decode comes more slowly than
// the link would allow.
//
// Time passes while something is asked for; between loads it learns nothing.
class NodePace {
 public:
  // So many bytes are expected from a fetch that was sent now.
  void OnAsked(uint64_t bytes, Instant now);
  // So many of them have come, and are decoded.
  void OnBytes(Rung rung, uint64_t bytes, Instant now);
  // So many of them will not come any more: the fetch is over.
  void OnOver(uint64_t bytes_missing, Instant now);

  bool known() const { return latest_.has_value(); }
  // It is known from what came just now.
  bool IsFresh(Instant now) const;
  // It is known from what came long ago: a node that was slow then may be fast now.
  bool IsOld(Instant now) const;
  // How long so many bytes take at that rung, once they come. REQUIRES: known().
  Duration TimeFor(Rung rung, uint64_t bytes, Instant now) const;
  // Until the first byte of what is asked for now comes, if nothing else is on its way.
  Duration latency() const { return latency_.value_or(Duration::zero()); }
  // The same of what is on its way, if nothing of it has come yet.
  Duration UntilFirst(Instant now) const;
  // What was asked for, and has not come.
  uint64_t expected_bytes() const { return expected_bytes_; }

 private:
  // What came of late counts most.
  struct Sample {
    double seconds = 0;
    double bytes = 0;
    Instant at;

    double seconds_per_byte() const { return seconds / bytes; }
  };
  // Bytes of one rung that came one after the other; the first of all began it.
  struct Stretch {
    Rung rung = Rung::kBf16;
    Instant since;
    Instant until;
    uint64_t bytes = 0;
  };
  // Since something was asked for while nothing else was on its way, until nothing is.
  struct Busy {
    Instant since;
    uint64_t bytes = 0;
    bool learnt = false;
    bool unasked = false;  // It began with bytes that nothing is known to have asked for.
  };

  double SecondsPerByte(Rung rung, Instant now) const;
  void EndStretch();
  void EndBusy(Instant now);
  void Learn(Rung rung, Duration time, uint64_t bytes, Instant at);

  uint64_t expected_bytes_ = 0;
  std::optional<Busy> busy_;
  std::optional<Stretch> stretch_;
  std::optional<Duration> latency_;
  std::map<Rung, Sample> samples_;
  std::optional<Rung> latest_;  // The rung whose sample is the newest.
};

}  // namespace kvcast
