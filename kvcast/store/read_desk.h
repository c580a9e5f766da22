#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/tier_set.h"
#include "kvcast/store/tier_trial.h"

namespace kvcast {

using StoreTicket = uint64_t;

// Reads under way from the tiers below RAM: one for each object, however many ask for it, and the
// answer to each who asks within its patience, whatever the tiers do.
//
// A tier that has too much to read is asked again when it has less; a read that fails is tried on
// the next tier that has the object. Nothing here waits for anything else: a tier that stalls
// delays those who want what it alone has, until their patience ends.
class ReadDesk {
 public:
  struct Limits {
    Duration patience = std::chrono::seconds(10);  // At most; whoever asks may have less.
    size_t waiting_max = size_t{1} << 16;          // Who ask, all together,
    size_t bytes_max = size_t{64} << 20;           // and what is remembered of them.
  };
  struct Finished {
    TrackName track;
    Location location;
    std::optional<StoredObject> found;
    std::vector<StoreTicket> tickets;
    bool prefetch = false;
    std::vector<TierTrial> trials{};  // Of what was not found.
  };

  // The tiers must outlive this.
  ReadDesk(const Limits& limits, TierSet& tiers) : limits_(limits), tiers_(&tiers) {}

  // False: no tier has it, or too many wait.
  bool Ask(StoreTicket ticket, const TrackName& track, Location location, Instant now,
           std::optional<Duration> patience = std::nullopt);
  // Reads for the sake of those to come; nobody is told. The same answer.
  bool Prefetch(const TrackName& track, Location location, Instant now);
  // Whoever asked does not want it any more.
  void Cancel(StoreTicket ticket);
  // Nothing of the track is given to anybody, whatever tiers answer: all who ask get nothing.
  void Drop(const TrackName& track);

  // False: not a read of this desk's.
  bool OnRead(size_t tier, TierRead read, Instant now);
  // Asks tiers that had too much to do again, and gives up what took too long.
  void Pump(Instant now);
  std::optional<Instant> deadline() const;
  std::vector<Finished> TakeFinished() { return std::exchange(finished_, {}); }

  size_t waiting() const { return tickets_.size(); }
  // What is remembered of reads and of those who wait for them, with their names.
  size_t bytes() const { return bytes_; }
  size_t reading_count() const { return readings_.size(); }
  uint64_t timeouts() const { return timeouts_; }
  // Prefetches under way.
  size_t prefetching() const { return prefetching_; }

 private:
  using Name = std::pair<TrackName, Location>;
  struct Reading {
    size_t tier = 0;
    std::optional<TierTicket> asked;
    std::optional<uint64_t> place;  // In the queue of a tier that has too much to do.
    Instant since{};                // When this tier was to read it.
    std::vector<TierTrial> trials;  // Of the tiers before.
    bool prefetch = false;
    std::set<StoreTicket> tickets;
  };
  struct Waiter {
    Name name;
    Instant until;
  };
  using Readings = std::map<Name, Reading>;

  std::optional<Readings::iterator> Find(const TrackName& track, Location location);
  // Asks the next tier that has it; without one, it is over.
  void AskTier(Readings::iterator reading, Instant now);
  void Finish(Readings::iterator reading, std::optional<StoredObject> found);
  static size_t BytesOfReading(const TrackName& track);
  static size_t BytesOfWaiter(const TrackName& track);
  bool wanted(const Reading& reading) const { return reading.prefetch || !reading.tickets.empty(); }

  Limits limits_;
  TierSet* tiers_;
  Readings readings_;
  std::map<std::pair<size_t, TierTicket>, Name> asked_;
  std::map<size_t, std::map<uint64_t, Name>> queues_;  // Of tiers that have too much to do.
  uint64_t last_place_ = 0;
  std::map<StoreTicket, Waiter> tickets_;
  std::set<std::pair<Instant, StoreTicket>> deadlines_;
  std::vector<Finished> finished_;
  size_t prefetching_ = 0;
  size_t bytes_ = 0;
  uint64_t timeouts_ = 0;
};

}  // namespace kvcast
