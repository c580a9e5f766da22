#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kvcast/base/chunk.h"

namespace kvcast {

// What is known of a chunk beside its bytes. On the heap it sits in front of them, in one
// allocation; its size keeps them aligned for SIMD. In an arena all headers sit together.
struct alignas(64) ChunkRef::Header {
  std::atomic<uint32_t> refs{1};
  uint32_t capacity = 0;
  std::byte* data = nullptr;
  Header* next = nullptr;        // While returned or kept, or free in an arena.
  Header* before = nullptr;      // While free in an arena.
  std::shared_ptr<Shelf> shelf;  // Empty for a chunk from the heap, or one that nobody holds.
  bool in_arena = false;
  // In an arena:
  bool free = false;
  bool resident = true;     // The machine has memory behind it. Of each unit.
  bool among_cold = false;  // Which list it is in, while free.
};

}  // namespace kvcast
