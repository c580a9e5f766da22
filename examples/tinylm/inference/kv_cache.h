#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/tinylm/inference/config.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/paged_cache.h"

namespace kvcast::tinylm {

// A prompt in a KvCache: the pages that hold it, first token first, and how many tokens they hold.
struct Sequence {
  std::vector<uint32_t> pages;
  uint32_t tokens = 0;
};

// The model's KV cache: BF16, in pages of a fixed number of tokens that sequences take and give
// back one by one, so a sequence's pages lie anywhere and in any order.
//
//   page := token[page_tokens]   token := head[kv_heads]   head := bfloat16[head_size]     (NHD)
//
// K and V of each layer are buffers of their own. kvcast reads blocks from them and writes blocks
// into them through pages(), as it does with any engine's.
class KvCache {
 public:
  // Invalid: no pages, or none that hold a token.
  static Result<KvCache> Of(const Config& config, uint32_t page_tokens, uint32_t page_count);
  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&&) noexcept = default;

  // Refers to this object, as do BlockViews made from it: it must not move while they are used.
  const PagedCache& pages() const { return pages_; }
  uint32_t page_tokens() const { return pages_.page_tokens(); }
  size_t free_pages() const { return free_.size(); }

  // Has `sequence` hold pages for `tokens` tokens in all. Too large: there are not as many free,
  // and then it keeps what it had.
  Result<void> Reserve(Sequence& sequence, uint32_t tokens);
  // Takes all pages back.
  void Release(Sequence& sequence);

 private:
  KvCache(std::vector<std::byte> memory, PagedCache pages);

  std::vector<std::byte> memory_;
  PagedCache pages_;
  std::vector<uint32_t> free_;  // The next one last.
};

}  // namespace kvcast::tinylm
