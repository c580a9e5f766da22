#include "kvcast/client/prompt_pages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

Result<PromptPages> PromptPages::Of(const PagedCache& cache, std::vector<uint32_t> pages,
                                    uint32_t block_tokens, size_t blocks, const Slice& slice) {
  if (block_tokens == 0) {
    return Error(ErrorCode::kInvalid, "A block has at least one token.");
  }
  const size_t tokens = pages.size() * size_t{cache.page_tokens()};
  if (blocks > tokens / block_tokens) {
    return Error(ErrorCode::kInvalid, std::to_string(blocks) + " blocks of " +
                                          std::to_string(block_tokens) + " tokens do not lie in " +
                                          std::to_string(tokens) + " tokens of pages.");
  }
  const auto absent =
      std::ranges::find_if(pages, [&](uint32_t page) { return page >= cache.page_count(); });
  if (absent != pages.end()) {
    return Error(ErrorCode::kInvalid, "Page " + std::to_string(*absent) + " is not one of the " +
                                          std::to_string(cache.page_count()) + " there are.");
  }
  const BlockShape whole({cache.layers().begin(), cache.layers().end()}, block_tokens);
  KVCAST_TRY(BlockShape shape, whole.Sliced(slice));
  return PromptPages(cache, std::move(pages), std::move(shape), slice, blocks);
}

BlockView PromptPages::Block(size_t index) const {
  KVCAST_CHECK(index < block_count_);
  // Of() has seen to all that could be wrong.
  return BlockView::Of(*cache_, pages_, index * shape_.tokens(), shape_.tokens(), slice_).value();
}

}  // namespace kvcast
