#pragma once

#include "kvcast/base/random.h"

namespace kvcast::sim {

// How likely one kind of fault is in a world: at most `most`, and not at all in half of the worlds,
// since some bugs hide behind other faults.
inline double FaultChance(Random& random, double most) {
  return random.Happens(0.5) ? most * static_cast<double>(random.Below(1000)) / 1000 : 0;
}

}  // namespace kvcast::sim
