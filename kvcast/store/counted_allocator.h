#pragma once

#include <cstddef>
#include <memory>

namespace kvcast {

// An allocator that keeps the sum of what was taken from it and not given back, so that a
// container's memory is known exactly, whatever nodes and tables its library makes. What the
// machine's allocator adds for itself is not in it.
//
// REQUIRES: the count outlives every container that was given it.
template <typename T>
class CountedAllocator {
 public:
  using value_type = T;

  explicit CountedAllocator(size_t* bytes) : bytes_(bytes) {}
  template <typename Other>
  CountedAllocator(const CountedAllocator<Other>& other) : bytes_(other.bytes()) {}  // NOLINT

  T* allocate(size_t count) {
    T* const memory = std::allocator<T>().allocate(count);
    *bytes_ += count * sizeof(T);  // NOLINT: T may well be a pointer.
    return memory;
  }
  void deallocate(T* memory, size_t count) {
    *bytes_ -= count * sizeof(T);  // NOLINT: the same.
    std::allocator<T>().deallocate(memory, count);
  }

  size_t* bytes() const { return bytes_; }
  template <typename Other>
  bool operator==(const CountedAllocator<Other>& other) const {
    return bytes_ == other.bytes();
  }

 private:
  size_t* bytes_;
};

}  // namespace kvcast
