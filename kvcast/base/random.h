#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvcast {

// splitmix64's step: neighbouring numbers go far apart, and no two to the same.
uint64_t Scatter(uint64_t number);

// Numbers that look random and are the same for the same seed, on every machine and compiler
// (xoshiro256**, seeded by splitmix64). For tests, the simulator and jitter.
//
// Never for secrets, names or generations: those come from the machine, through `io`.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound);
  // True with probability `chance`.
  bool Happens(double chance);
  void Fill(std::span<std::byte> bytes);

 private:
  uint64_t state_[4];
};

}  // namespace kvcast
