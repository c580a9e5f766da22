// Asks the allocator what it really gave for each `new` of the whole test program.
#include "kvcast/kv/held_bytes_test.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kInFront = 8;
std::atomic<size_t> held_bytes{0};

void* Take(size_t bytes, size_t alignment) {
  bytes = std::max<size_t>(bytes, 1);
  void* const memory =
      alignment == 0
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    std::abort();
  }
  held_bytes += malloc_usable_size(memory) + kInFront;
  return memory;
}

void GiveBack(void* memory) {
  if (memory != nullptr) {
    held_bytes -= malloc_usable_size(memory) + kInFront;
    std::free(memory);
  }
}

}  // namespace

size_t kvcast::HeldBytes() { return held_bytes; }

// All forms: those of the standard library lead to the first, those of AddressSanitizer do not.
void* operator new(size_t bytes) { return Take(bytes, 0); }
void* operator new[](size_t bytes) { return Take(bytes, 0); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes, 0); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Take(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return Take(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { GiveBack(memory); }
void operator delete[](void* memory) noexcept { GiveBack(memory); }
void operator delete(void* memory, size_t) noexcept { GiveBack(memory); }
void operator delete[](void* memory, size_t) noexcept { GiveBack(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { GiveBack(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { GiveBack(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { GiveBack(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { GiveBack(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { GiveBack(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { GiveBack(memory); }
