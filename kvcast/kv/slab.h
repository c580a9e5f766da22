#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kvcast {

// Elements by number, in chunks that never move: growing copies nothing and wastes at most one
// chunk, where a vector would double. Freed numbers are given out again.
template <typename T>
class Slab {
 public:
  static constexpr size_t kChunk = 1024;

  uint32_t Allocate() {
    if (!free_.empty()) {
      const uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (used_ == chunks_.size() * kChunk) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    return used_++;
  }
  void Free(uint32_t index) {
    (*this)[index] = T();
    free_.push_back(index);
  }

  T& operator[](uint32_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }
  const T& operator[](uint32_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }

  size_t size() const { return used_ - free_.size(); }
  size_t bytes() const {
    return chunks_.size() * sizeof(Chunk) + chunks_.capacity() * sizeof(void*) +
           free_.capacity() * sizeof(uint32_t);
  }

 private:
  using Chunk = std::array<T, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
};

}  // namespace kvcast
