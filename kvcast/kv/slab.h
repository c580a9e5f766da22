#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kvcast {

// Elements by number, in chunks that never move: growing copies nothing and wastes at most one
// chunk, where a vector would double. Freed numbers are given out again, and are linked through the
// elements themselves, so that freeing costs no memory.
//
// `Link` is a member of T that means nothing while the element is free.
template <typename T, uint32_t T::*Link>
class Slab {
 public:
  static constexpr size_t kChunk = 256;

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
        chunks_.reserve(GrownCapacity());
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
    return chunks_.size() * sizeof(Chunk) + chunks_.capacity() * sizeof(void*);
  }
  // What Allocate() would add to that, at its peak.
  size_t bytes_to_allocate() const {
    if (free_ != kNone || used_ < chunks_.size() * kChunk) {
      return 0;
    }
    const bool full = chunks_.size() == chunks_.capacity();
    return sizeof(Chunk) + (full ? GrownCapacity() * sizeof(void*) : 0);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Chunk = std::array<T, kChunk>;
  // Not by assignment: a string that is assigned an empty one keeps its memory, uncounted.
  void Renew(uint32_t index) {
    T* const element = &(*this)[index];
    std::destroy_at(element);
    std::construct_at(element);
  }
  size_t GrownCapacity() const { return std::max<size_t>(8, chunks_.capacity() * 3 / 2); }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint32_t used_ = 0;  // Numbers ever given out.
  uint32_t free_ = kNone;
  size_t size_ = 0;
};

}  // namespace kvcast
