#pragma once

#include <cstdint>

namespace kvcast {

// Bugs of our own, planted to see whether the simulator finds them: `./dev check` plays all worlds
// with each. They are there only in builds that are made for it (the preset `planted`), which have
// no program but the simulator; in all others Planted() is false for the compiler, too.
enum class PlantedBug : uint8_t {
  kNone,
  kNoCheckSum,            // A record read from disk is taken as it comes.
  kOneGeneration,         // Every act of publishing has the same generation.
  kFetchEndsEarly,        // A fetch up to a track's largest object ends one before it.
  kPinLeaks,              // What a fetch has pinned stays so when it is over.
  kAcknowledgedUnsynced,  // A write is taken for durable when its sync is asked for.
  kNotCoalesced,          // What is on its way from upstream is asked for again.
  kUnknownIsAbsent,       // Of what a node does not know it says that it does not exist.
  kContradictionKept,     // Other bytes are taken under a name that stands in a lower tier.
  kDeltaLost,             // A catalog's reader does not notice that it has missed an object.
  kEvictedStaysListed,    // A catalog goes on listing what has been evicted.
  kKeyNotCompared,        // A block is loaded whatever its key is.
};
inline constexpr int kPlantedBugs = static_cast<int>(PlantedBug::kKeyNotCompared);

#ifdef KVCAST_PLANTED_BUGS
// The one that is in this process; the simulator's main sets it before anything else.
extern PlantedBug planted_bug;
inline bool Planted(PlantedBug bug) { return planted_bug == bug; }
#else
constexpr bool Planted(PlantedBug) { return false; }
#endif

}  // namespace kvcast
