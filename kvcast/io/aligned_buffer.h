#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace kvcast {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// Memory aligned as O_DIRECT wants it. Null if there is none.
using AlignedBuffer = std::unique_ptr<std::byte, FreeMemory>;

// REQUIRES: bytes is a multiple of 4,096.
inline AlignedBuffer MakeAlignedBuffer(size_t bytes) {
  constexpr size_t kAlignment = 4096;
  return AlignedBuffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
}

}  // namespace kvcast
