#include "kvcast/client/prompt_pages.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

Result<PromptPages> PromptPages::Of(const PagedCache& cache, std::vector<uint32_t> pages,
                                    uint32_t block_tokens, size_t blocks, const Slice& slice) {
  std::vector<std::vector<uint32_t>> tables;
  tables.push_back(std::move(pages));
  return OfTables(cache, std::move(tables), block_tokens, blocks, slice);
}

Result<PromptPages> PromptPages::OfTables(const PagedCache& cache,
                                          std::vector<std::vector<uint32_t>> tables,
                                          uint32_t block_tokens, size_t blocks,
                                          const Slice& slice) {
  if (block_tokens == 0) {
    return Error(ErrorCode::kInvalid, "A block has at least one token.");
  }
  if (blocks > std::numeric_limits<uint32_t>::max() / block_tokens) {
    return Error(ErrorCode::kInvalid, std::to_string(blocks) + " blocks of " +
                                          std::to_string(block_tokens) +
                                          " tokens are more than a prompt has.");
  }
  const BlockShape whole({cache.layers().begin(), cache.layers().end()}, block_tokens);
  KVCAST_TRY(BlockShape shape, whole.Sliced(slice));
  PromptPages pages(cache, std::move(tables), std::move(shape), slice, slice, blocks);
  if (blocks > 0) {
    // What is wrong with any block is wrong with all of them together.
    KVCAST_TRY_VOID(pages.View(0, static_cast<uint32_t>(blocks * block_tokens)));
  }
  return pages;
}

Result<PromptPages> PromptPages::OfSlice(const PagedCache& cache, std::vector<uint32_t> pages,
                                         uint32_t block_tokens, size_t blocks, const Slice& slice) {
  const bool all_layers = !slice.layers || slice.layers->count() == cache.layers().size();
  const bool all_heads =
      !slice.heads || std::ranges::all_of(cache.layers(), [&](const LayerShape& layer) {
        return layer.kv_heads == slice.heads->count() && layer.value_size > 0;
      });
  if (!all_layers || !all_heads) {
    return Error(ErrorCode::kInvalid,
                 "The pages hold other layers or KV heads than those of " + slice.Suffix() + ".");
  }
  KVCAST_TRY(PromptPages held, Of(cache, std::move(pages), block_tokens, blocks));
  held.slice_ = slice;
  return held;
}

Result<BlockView> PromptPages::View(size_t first_token, uint32_t tokens) const {
  const std::vector<std::span<const uint32_t>> tables(tables_.begin(), tables_.end());
  return BlockView::OfTables(*cache_, tables, first_token, tokens, held_);
}

BlockView PromptPages::Block(size_t index) const {
  KVCAST_CHECK(index < block_count_);
  return View(index * shape_.tokens(), shape_.tokens()).value();
}

PromptPages PromptPages::First(size_t blocks) const {
  PromptPages first = *this;
  first.block_count_ = std::min(blocks, block_count_);
  return first;
}

}  // namespace kvcast
