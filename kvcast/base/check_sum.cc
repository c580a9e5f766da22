#include "kvcast/base/check_sum.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace kvcast {

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t sum) {
  constexpr size_t kCallBytesMax = size_t{1} << 30;  // The library counts in int.
  sum = ~sum;
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.size(), kCallBytesMax);
    // The library takes a pointer that is not const and does not write through it.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    sum = crc32_iscsi(data, static_cast<int>(length), sum);
    bytes = bytes.subspan(length);
  }
  return ~sum;
}

uint32_t Crc32c(const Bytes& bytes, uint32_t sum) {
  for (size_t i = 0; i < bytes.piece_count(); ++i) {
    sum = Crc32c(bytes.piece(i), sum);
  }
  return sum;
}

}  // namespace kvcast
