#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kvcast/base/time.h"
#include "kvcast/client/cache_match.h"
#include "kvcast/client/load_run.h"
#include "kvcast/client/node_pace.h"

namespace kvcast {

// How long an engine waits for blocks that are still being computed elsewhere, and published.
struct FollowTerms {
  // Until somebody begins to; zero: who has not begun is not waited for.
  Duration begin_within{};
  // Of the prompt's blocks, those that an engine knows to be on their way: for others nobody is
  // waited for to begin. All of them, if it has been told to wait.
  size_t expected = SIZE_MAX;
  // Between one sign of life and the next, once somebody has begun.
  Duration next_within = std::chrono::seconds(2);
};

// What an engine wants of a load.
struct LoadTerms {
  Instant deadline = Instant::max();  // What has not come by then is computed.
  // What the engine takes to compute one block. Loading is chosen only where it is faster; absent:
  // it always is.
  std::optional<Duration> compute_per_block{};
  // Wants all blocks that have a place, not only those that were found. Computing is never waited
  // for longer than computing all that is missing would take.
  std::optional<FollowTerms> follow{};
  // Of the prompt's blocks, those whose pages may be written to; more become so by Client::Room().
  // What has no room is not asked for.
  size_t room = SIZE_MAX;
};

// Whether there is anything to weigh: else everything is loaded at the best rung there is.
bool HasChoice(const CacheMatch& match, const LoadTerms& terms);

// How the next blocks of a prompt are to be had, and why so.
struct RungChoice {
  enum class Reason : uint8_t {
    kBest,             // Nothing better is offered, and it comes in time.
    kFits,             // The best of those that come in time.
    kFastest,          // Not all blocks come in time; so most of them do.
    kUnknownLink,      // Nobody knows how fast the node is yet: little is asked for.
    kComputingFaster,  // Computing takes less time than loading. The rung is absent.
    kTooLate,          // Not even the next block would come in time. The rung is absent.
    kWaitedEnough,     // What was asked for does not come as fast as it is computed. The same.
    kPrefetched,       // It was here already.
  };

  Reason reason = Reason::kBest;
  std::optional<LoadRun> run;  // Absent: to be computed.
  size_t block = 0;            // The first one that it is about.
  // What was known: how long all blocks from there on would take at that rung, what is on its way
  // included; how long there was; how long computing them would take.
  std::optional<Duration> expected{};
  std::optional<Duration> left{};
  std::optional<Duration> computing{};
  std::optional<Duration> silent{};  // Nothing came, of what was needed first.

  // A sentence for a person.
  std::string ToString() const;
};

// Chooses for the blocks of a match from `block` on, by what is known now: the best rung at which
// all of them come in time, and no later than they would be computed. Only the next few are
// settled by it, so that the next choice knows more.
// REQUIRES: a block of the match that some track offers.
RungChoice ChooseRung(const CacheMatch& match, size_t block, const LoadTerms& terms,
                      const NodePace& pace, Instant now);

// Whether what is on its way, the last of it at that rung, keeps the node busy until the next
// choice can be made: to ask for more would settle what better stays open.
bool IsEnoughAsked(const NodePace& pace, Rung last, Instant now);

}  // namespace kvcast
