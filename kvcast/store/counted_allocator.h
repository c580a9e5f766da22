#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

namespace kvcast {

// Counts what containers take from the heap, as the heap counts it: in steps of 16 bytes, with 8
// of its own. The counter must outlive every container.
template <typename T>
struct CountedAllocator {
  using value_type = T;

  explicit CountedAllocator(size_t* counter) : bytes(counter) {}
  template <typename U>
  CountedAllocator(const CountedAllocator<U>& other) : bytes(other.bytes) {}  // NOLINT: implicit

  T* allocate(size_t count) {
    *bytes += CostOf(count);
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, size_t count) {
    *bytes -= CostOf(count);
    std::allocator<T>().deallocate(memory, count);
  }
  static size_t CostOf(size_t count) {
    return std::max<size_t>(32, (count * sizeof(T) + 8 + 15) / 16 * 16);
  }

  template <typename U>
  friend bool operator==(const CountedAllocator& a, const CountedAllocator<U>& b) {
    return a.bytes == b.bytes;
  }

  size_t* bytes;
};

}  // namespace kvcast
