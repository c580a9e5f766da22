#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kvcast/kv/allocation_bytes.h"

namespace kvcast {

// Elements by number, in chunks that never move: growing copies nothing and wastes at most one
// chunk, where a vector would double. Freed numbers are given out again, and are linked through the
// elements themselves, so that freeing costs no memory.
//
// `Link` is a member of T that means nothing while the element is free.
template <typename T, uint32_t T::*Link, size_t kChunk = 256>
class Slab {
 public:
  uint32_t Allocate() {
    ++size_;
    if (free_ != kNone) {
      const uint32_t index = free_;
      free_ = (*this)[index].*Link;
      Renew(index);
      return index;
    }
    if (used_ == chunks_.size() * kChunk) {
      if (chunks_.size() == chunks_.capacity()) {
        chunks_.reserve(Grown(chunks_.capacity()));
      }
      chunks_.push_back(std::make_unique<Chunk>());
    }
    return used_++;
  }
  void Free(uint32_t index) {
    Renew(index);
    (*this)[index].*Link = free_;
    free_ = index;
    --size_;
  }

  T& operator[](uint32_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }
  const T& operator[](uint32_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }

  // Whether the number was ever given out.
  bool Has(uint32_t index) const { return index < used_; }

  size_t size() const { return size_; }
  size_t bytes() const {
    return chunks_.size() * AllocationBytes(sizeof(Chunk)) + ListBytes(chunks_.capacity());
  }
  // What `count` times Allocate() would add to that, at its peak.
  size_t bytes_to_allocate(size_t count = 1) const {
    const size_t at_hand = chunks_.size() * kChunk - size_;
    if (count <= at_hand) {
      return 0;
    }
    const size_t more = (count - at_hand + kChunk - 1) / kChunk;
    size_t bytes = more * AllocationBytes(sizeof(Chunk));
    // While the list of chunks grows, old and new are both there.
    for (size_t room = chunks_.capacity(); room < chunks_.size() + more;) {
      room = Grown(room);
      bytes += ListBytes(room);
    }
    return bytes;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Chunk = std::array<T, kChunk>;
  // Not by assignment: what an element owns goes with it.
  void Renew(uint32_t index) {
    T* const element = &(*this)[index];
    std::destroy_at(element);
    std::construct_at(element);
  }
  static size_t Grown(size_t capacity) { return std::max<size_t>(8, capacity * 3 / 2); }
  static size_t ListBytes(size_t capacity) { return AllocationBytes(capacity * sizeof(void*)); }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint32_t used_ = 0;  // Numbers ever given out.
  uint32_t free_ = kNone;
  size_t size_ = 0;
};

}  // namespace kvcast
