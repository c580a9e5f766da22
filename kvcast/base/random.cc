#include "kvcast/base/random.h"

#include <bit>

#include "kvcast/base/check.h"

namespace kvcast {

namespace {

constexpr uint64_t kScatterStep = 0x9e3779b97f4a7c15;

}  // namespace

uint64_t Scatter(uint64_t number) {
  number += kScatterStep;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    word = Scatter(seed);
    seed += kScatterStep;
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  KVCAST_CHECK(bound > 0);
  // The values below `biased` would make the first remainders a little more likely.
  const uint64_t biased = (0 - bound) % bound;
  uint64_t value = Next();
  while (value < biased) {
    value = Next();
  }
  return value % bound;
}

bool Random::Happens(double chance) {
  return static_cast<double>(Next() >> 11) * 0x1.0p-53 < chance;
}

void Random::Fill(std::span<std::byte> bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0) {
      word = Next();
    }
    bytes[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
}

}  // namespace kvcast
