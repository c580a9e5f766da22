#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace kvcast::tinylm {

// Begins every allocation with a cache line, so that no vector of 64 bytes straddles two.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, size_t /*count*/) { ::operator delete(memory, kAlignment); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) = default;
};

using AlignedFloats = std::vector<float, CacheLineAllocator<float>>;

}  // namespace kvcast::tinylm
