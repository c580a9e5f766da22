#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// One block, or a slice of one, where it lies in an engine's pages: what an encoder reads from and
// a decoder writes into. Copies nothing; the cache and its memory must outlive it.
class BlockView {
 public:
  // The block of `tokens` tokens that begins `first_token` tokens into the row of pages `pages` (an
  // engine's block table for the prompt). Invalid: pages that are not there, or too few of them,
  // or a slice of what the model does not have.
  static Result<BlockView> Of(const PagedCache& cache, std::span<const uint32_t> pages,
                              size_t first_token, uint32_t tokens, const Slice& slice = {}) {
    return OfTables(cache, std::span(&pages, 1), first_token, tokens, slice);
  }
  // With a row of pages in each of the engine's tables; all begin with the prompt. An engine that
  // has given back pages of layers with a window has nothing there to be viewed.
  static Result<BlockView> OfTables(const PagedCache& cache,
                                    std::span<const std::span<const uint32_t>> tables,
                                    size_t first_token, uint32_t tokens, const Slice& slice = {});

  // The slice's own shape: its layers and heads count from 0 here.
  const BlockShape& shape() const { return shape_; }
  uint32_t value_bytes() const { return cache_->value_bytes(); }
  // Of its first token, in the row of pages it was cut from: in the prompt, where that row is one.
  size_t position() const { return position_; }

  // The values of one token, layer and head, in one piece. REQUIRES: all within shape().
  std::span<const std::byte> Row(uint32_t token, size_t layer, Plane plane, uint32_t head) const {
    return {Address(token, layer, plane, head), RowBytes(layer, plane)};
  }
  std::span<std::byte> MutableRow(uint32_t token, size_t layer, Plane plane, uint32_t head) {
    return {Address(token, layer, plane, head), RowBytes(layer, plane)};
  }
  // From one head of a token to the next, in bytes.
  size_t HeadStride(size_t layer, Plane plane) const {
    return cache_->head_stride(layer + first_layer_, plane);
  }

 private:
  BlockView(const PagedCache& cache, BlockShape shape) : cache_(&cache), shape_(std::move(shape)) {}
  size_t RowBytes(size_t layer, Plane plane) const {
    return size_t{shape_.layers()[layer].size(plane)} * cache_->value_bytes();
  }
  std::byte* Address(uint32_t token, size_t layer, Plane plane, uint32_t head) const {
    const TableRow& row = rows_[cache_->table_of(layer + first_layer_)];
    const size_t at = row.first_token + token;
    return cache_->At(layer + first_layer_, plane, row.pages[at / row.page_tokens],
                      static_cast<uint32_t>(at % row.page_tokens), head + first_head_);
  }

  struct TableRow {
    std::vector<uint32_t> pages;  // Only the block's own.
    size_t first_token = 0;       // In the first of them.
    size_t page_tokens = 0;
  };
  static Result<TableRow> RowOf(const PagedCache& cache, size_t table,
                                std::span<const uint32_t> pages, size_t first_token,
                                uint32_t tokens);

  const PagedCache* cache_;
  BlockShape shape_;
  std::vector<TableRow> rows_;  // By table.
  size_t position_ = 0;
  uint32_t first_layer_ = 0;
  uint32_t first_head_ = 0;
};

}  // namespace kvcast
