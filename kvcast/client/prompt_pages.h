#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// Where the blocks of one prompt lie, or are to lie, in an engine's pages. Copies no values; the
// cache and its memory must outlive it, and whoever reads or writes through it says when it is
// done.
class PromptPages {
 public:
  // `pages` is the engine's block table for the prompt, from its first token on. Invalid: pages
  // that are not there, too few of them for `blocks`, or a slice of what the model does not have.
  static Result<PromptPages> Of(const PagedCache& cache, std::vector<uint32_t> pages,
                                uint32_t block_tokens, size_t blocks, const Slice& slice = {});
  // With a row of pages in each of the engine's tables.
  static Result<PromptPages> OfTables(const PagedCache& cache,
                                      std::vector<std::vector<uint32_t>> tables,
                                      uint32_t block_tokens, size_t blocks,
                                      const Slice& slice = {});

  // Of a cache that holds nothing but this slice, as a tensor-parallel rank's does: its first layer
  // and head are the slice's. Invalid: it holds another number of them; and as above.
  static Result<PromptPages> OfSlice(const PagedCache& cache, std::vector<uint32_t> pages,
                                     uint32_t block_tokens, size_t blocks, const Slice& slice);

  size_t block_count() const { return block_count_; }
  const BlockShape& shape() const { return shape_; }  // Of each block, sliced.
  const Slice& slice() const { return slice_; }
  uint32_t value_bytes() const { return cache_->value_bytes(); }

  // REQUIRES: index < block_count().
  BlockView Block(size_t index) const;
  // The same pages, of which only the first blocks count; all if there are no more.
  PromptPages First(size_t blocks) const;

 private:
  PromptPages(const PagedCache& cache, std::vector<std::vector<uint32_t>> tables, BlockShape shape,
              const Slice& slice, const Slice& held, size_t block_count)
      : cache_(&cache),
        tables_(std::move(tables)),
        shape_(std::move(shape)),
        slice_(slice),
        held_(held),
        block_count_(block_count) {}
  Result<BlockView> View(size_t first_token, uint32_t tokens) const;

  const PagedCache* cache_;
  std::vector<std::vector<uint32_t>> tables_;
  BlockShape shape_;
  Slice slice_;
  Slice held_;  // The same, as the cache's own layers and heads count.
  size_t block_count_;
};

}  // namespace kvcast
