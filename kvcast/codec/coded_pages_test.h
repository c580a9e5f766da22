#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// An engine's memory with room for one block, in one of its possible layouts, its pages in
// disorder.
class TestPages {
 public:
  explicit TestPages(const BlockShape& shape, PageOrder order = PageOrder::kNhd,
                     KvPlacement placement = KvPlacement::kApart)
      : shape_(shape) {
    constexpr uint32_t kPageTokens = 4;
    const uint32_t pages = (kFirst + shape.tokens() + kPageTokens - 1) / kPageTokens;
    const bool apart = placement == KvPlacement::kApart;
    for (const LayerShape& layer : shape.layers()) {
      const size_t tokens = size_t{pages} * kPageTokens * layer.kv_heads;
      const uint32_t first = apart ? layer.key_size : layer.key_size + layer.value_size;
      buffers_.emplace_back(tokens * first * kPageValueBytes);
      buffers_.emplace_back(apart ? tokens * layer.value_size * kPageValueBytes : 0);
    }
    std::vector<LayerMemory> memory;
    for (size_t i = 0; i < buffers_.size(); i += 2) {
      memory.push_back({buffers_[i], buffers_[i + 1]});
    }
    cache_.emplace(
        *PagedCache::Of(shape, {order, placement, kPageTokens, kPageValueBytes}, memory));
    for (uint32_t page = pages; page-- > 0;) {
      table_.push_back(page);
    }
  }
  TestPages(const TestPages&) = delete;
  TestPages& operator=(const TestPages&) = delete;

  BlockView Block(const Slice& slice = {}) const {
    return *BlockView::Of(*cache_, table_, kFirst, shape_.tokens(), slice);
  }
  std::vector<std::vector<std::byte>>& buffers() { return buffers_; }
  const std::vector<std::vector<std::byte>>& buffers() const { return buffers_; }

  // Any bits at all, infinities and NaN among them.
  void FillWithNoise(uint64_t seed) {
    Random random(seed);
    for (std::vector<std::byte>& buffer : buffers_) {
      random.Fill(buffer);
    }
  }
  // What caches look like: a bell of a width that differs from channel to channel.
  void FillLikeACache(HalfType type, uint64_t seed) {
    Random random(seed);
    size_t channel = 0;
    for (std::vector<std::byte>& buffer : buffers_) {
      for (size_t i = 0; i + 1 < buffer.size(); i += kPageValueBytes) {
        float sum = 0;
        for (int k = 0; k < 6; ++k) {
          sum += static_cast<float>(random.Below(2001)) / 1000.0F - 1.0F;
        }
        const float width = channel % 16 == 3 ? 9.0F : 0.3F + static_cast<float>(channel % 5);
        const uint16_t bits = FromFloat(type, sum * width);
        std::memcpy(buffer.data() + i, &bits, sizeof(bits));
        ++channel;
      }
    }
  }

 private:
  static constexpr uint32_t kFirst = 3;
  BlockShape shape_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<uint32_t> table_;
  std::optional<PagedCache> cache_;
};

// Calls visit(bits in a, bits in b) for each value of two blocks of one shape.
template <typename Visit>
void ForEachValue(const BlockView& a, const BlockView& b, Visit visit) {
  for (uint32_t token = 0; token < a.shape().tokens(); ++token) {
    for (size_t layer = 0; layer < a.shape().layers().size(); ++layer) {
      const LayerShape& shape = a.shape().layers()[layer];
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < shape.kv_heads; ++head) {
          const auto from = a.Row(token, layer, plane, head);
          const auto to = b.Row(token, layer, plane, head);
          for (size_t i = 0; i < shape.size(plane); ++i) {
            uint16_t bits[2] = {};
            std::memcpy(&bits[0], from.data() + i * kPageValueBytes, kPageValueBytes);
            std::memcpy(&bits[1], to.data() + i * kPageValueBytes, kPageValueBytes);
            visit(bits[0], bits[1]);
          }
        }
      }
    }
  }
}

inline bool SameValues(const BlockView& a, const BlockView& b) {
  bool same = true;
  ForEachValue(a, b, [&](uint16_t x, uint16_t y) { same = same && x == y; });
  return same;
}

}  // namespace kvcast
