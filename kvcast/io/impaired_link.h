#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"

namespace kvcast {

// One direction of a bad network: says of each datagram when it arrives, how often, and whether at
// all.
//
// The same seed, options, sizes and times give the same fates. Each datagram draws the same
// numbers whatever the options are, so that more loss, say, loses those that were lost before and
// some others, and changes nothing else.
class ImpairedLink {
 public:
  struct Options {
    uint64_t seed = 1;

    // How long every datagram is on its way.
    Duration delay = Duration(0);
    // Chances of each datagram, from 0 to 1: to be lost, to arrive twice, and to be held back for
    // another `reorder_delay`, so that those behind it overtake it.
    double loss = 0;
    double duplication = 0;
    double reordering = 0;
    double corruption = 0;  // To have one bit turned over.
    Duration reorder_delay = std::chrono::milliseconds(5);

    // What the narrowest place lets through, of payload; 0 is everything. What comes faster waits
    // in a queue of `queue_bytes`, and is lost where that is full.
    uint64_t bits_per_second = 0;
    size_t queue_bytes = 1024 * 1024;
    // Larger ones are lost, as where the path's MTU is smaller.
    size_t datagram_bytes_max = SIZE_MAX;

    // Everything that is sent from `blackout_start` on, for `blackout_length`, is lost; both from
    // the first datagram on. With a period, again and again.
    Duration blackout_start = Duration(0);
    Duration blackout_length = Duration(0);
    Duration blackout_period = Duration(0);
  };

  struct Counts {
    uint64_t datagrams = 0;
    uint64_t bytes = 0;
    uint64_t lost = 0;         // By chance.
    uint64_t blacked_out = 0;  // In a blackout.
    uint64_t overflowed = 0;   // For want of room in the queue.
    uint64_t too_large = 0;
    uint64_t duplicated = 0;
    uint64_t held_back = 0;
    uint64_t corrupted = 0;
  };

  // When it arrives, when once more, and which of its bits is another one then.
  struct Fate {
    std::optional<Instant> arrival;
    std::optional<Instant> second_arrival;
    std::optional<size_t> turned_bit;
  };

  explicit ImpairedLink(const Options& options);

  // A datagram is sent. REQUIRES: `now` never goes back.
  Fate Send(size_t bytes, Instant now);

  const Counts& counts() const { return counts_; }

 private:
  bool IsBlackout(Instant now);
  // When it has passed the narrowest place; absent where it does not fit into the queue.
  std::optional<Instant> PassNarrows(size_t bytes, Instant now);

  Options options_;
  Random random_;
  Counts counts_;
  std::optional<Instant> first_;  // When the first datagram was sent.
  Instant free_{};                // When the narrowest place has let through what it has.
};

}  // namespace kvcast
