#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvcast::tinylm {

static_assert(std::endian::native == std::endian::little,
              "Weights and KV files are little-endian.");

inline float FloatOfBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// To the nearest, ties to even, as every engine does. What is not a number stays none.
inline uint16_t Bfloat16OfFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) {
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Values within bytes, as files and pages hold them.
inline float LoadBfloat16(const std::byte* at) {
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return FloatOfBfloat16(bits);
}
inline void StoreBfloat16(float value, std::byte* at) {
  const uint16_t bits = Bfloat16OfFloat(value);
  std::memcpy(at, &bits, sizeof(bits));
}

}  // namespace kvcast::tinylm
