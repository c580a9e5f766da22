#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvcast/base/bytes.h"

namespace kvcast {

// CRC-32C (Castagnoli), which every processor of today computes in hardware. Guards against damage,
// not against an attacker. Pieces are chained by passing the sum so far.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t sum = 0);
uint32_t Crc32c(const Bytes& bytes, uint32_t sum = 0);

}  // namespace kvcast
