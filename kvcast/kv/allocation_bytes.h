#pragma once

#include <algorithm>
#include <cstddef>

namespace kvcast {

// What a piece of memory of so many bytes costs at most with what the allocator (glibc's) adds to
// it: eight bytes in front, rounded up to sixteen, and sixteen that may be left over and are too
// few for anybody else; for large pieces, which may get pages of their own, whole pages.
constexpr size_t AllocationBytes(size_t bytes) {
  constexpr size_t kOwnPagesFrom = size_t{128} << 10;
  constexpr size_t kPageBytes = 4096;
  if (bytes == 0) {
    return 0;
  }
  if (bytes >= kOwnPagesFrom - 16) {
    return (bytes + 16 + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  return std::max<size_t>(32, (bytes + 8 + 15) / 16 * 16) + 16;
}

}  // namespace kvcast
