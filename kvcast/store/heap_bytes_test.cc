// Counts what is asked of `new`, for the whole test program: each piece of memory says its own size
// in front.
#include "kvcast/store/heap_bytes_test.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<size_t> heap_bytes{0};

void* Take(size_t bytes, size_t alignment) {
  const size_t front = std::max(alignment, alignof(std::max_align_t));
  void* const memory = std::aligned_alloc(front, (front + bytes + front - 1) / front * front);
  if (memory == nullptr) {
    std::abort();
  }
  char* const given = static_cast<char*>(memory) + front;
  std::memcpy(given - sizeof(bytes), &bytes, sizeof(bytes));
  heap_bytes += bytes;
  return given;
}

void GiveBack(void* given, size_t alignment) {
  if (given == nullptr) {
    return;
  }
  size_t bytes = 0;
  std::memcpy(&bytes, static_cast<char*>(given) - sizeof(bytes), sizeof(bytes));
  heap_bytes -= bytes;
  std::free(static_cast<char*>(given) - std::max(alignment, alignof(std::max_align_t)));
}

}  // namespace

size_t kvcast::HeapBytes() { return heap_bytes; }

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
void operator delete(void* given) noexcept { GiveBack(given, 0); }
void operator delete[](void* given) noexcept { GiveBack(given, 0); }
void operator delete(void* given, size_t) noexcept { GiveBack(given, 0); }
void operator delete[](void* given, size_t) noexcept { GiveBack(given, 0); }
void operator delete(void* given, const std::nothrow_t&) noexcept { GiveBack(given, 0); }
void operator delete[](void* given, const std::nothrow_t&) noexcept { GiveBack(given, 0); }
void operator delete(void* given, std::align_val_t alignment) noexcept {
  GiveBack(given, static_cast<size_t>(alignment));
}
void operator delete[](void* given, std::align_val_t alignment) noexcept {
  GiveBack(given, static_cast<size_t>(alignment));
}
void operator delete(void* given, size_t, std::align_val_t alignment) noexcept {
  GiveBack(given, static_cast<size_t>(alignment));
}
void operator delete[](void* given, size_t, std::align_val_t alignment) noexcept {
  GiveBack(given, static_cast<size_t>(alignment));
}
