#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/inference/config.h"

namespace kvcast::tinylm {

// A prompt in a KvCache: the pages that hold it, first token first, and how many tokens they hold.
struct Sequence {
  std::vector<uint32_t> pages;
  uint32_t tokens = 0;
};

enum class Plane : uint8_t { kKey, kValue };

// The model's KV cache: BF16, in pages of a fixed number of tokens that sequences take and give
// back one by one, so a sequence's pages lie anywhere and in any order.
//
//   page := token[page_tokens]   token := head[kv_heads]   head := bfloat16[head_size]     (NHD)
//
// K and V of each layer are buffers of their own. kvcast reads blocks from them and writes blocks
// into them (shared_cache.h), as it does with any engine's.
class KvCache {
 public:
  static constexpr size_t kValueBytes = 2;

  // Invalid: no pages, or none that hold a token.
  static Result<KvCache> Of(const Config& config, uint32_t page_tokens, uint32_t page_count);
  // What refers to the memory still does when this has moved.
  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&&) noexcept = default;

  size_t layers() const { return layers_; }
  uint32_t kv_heads() const { return heads_; }
  uint32_t page_tokens() const { return page_tokens_; }
  uint32_t page_count() const { return page_count_; }
  size_t free_pages() const { return free_.size(); }
  // Of one layer, K or V: all pages.
  size_t plane_bytes() const { return size_t{page_count_} * page_tokens_ * token_bytes(); }
  // Of a token and one head.
  size_t head_bytes() const { return head_size_ * kValueBytes; }

  // The values of one token and head, `slot` tokens into a page. REQUIRES: that there are such.
  std::byte* At(size_t layer, Plane plane, uint32_t page, uint32_t slot, uint32_t head) {
    return memory_.data() + Offset(layer, plane, page, slot, head);
  }
  const std::byte* At(size_t layer, Plane plane, uint32_t page, uint32_t slot,
                      uint32_t head) const {
    return memory_.data() + Offset(layer, plane, page, slot, head);
  }

  // Has `sequence` hold pages for `tokens` tokens in all. Too large: there are not as many free,
  // and then it keeps what it had.
  Result<void> Reserve(Sequence& sequence, uint32_t tokens);
  // Takes all pages back.
  void Release(Sequence& sequence);

 private:
  KvCache(const Config& config, uint32_t page_tokens, uint32_t page_count);

  size_t token_bytes() const { return heads_ * head_bytes(); }
  size_t Offset(size_t layer, Plane plane, uint32_t page, uint32_t slot, uint32_t head) const {
    return (2 * layer + (plane == Plane::kValue ? 1 : 0)) * plane_bytes() +
           (size_t{page} * page_tokens_ + slot) * token_bytes() + head * head_bytes();
  }

  size_t layers_;
  uint32_t heads_;
  uint32_t head_size_;
  uint32_t page_tokens_;
  uint32_t page_count_;
  std::vector<std::byte> memory_;
  std::vector<uint32_t> free_;  // The next one last.
};

}  // namespace kvcast::tinylm
