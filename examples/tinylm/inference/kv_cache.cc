#include "examples/tinylm/inference/kv_cache.h"

#include <string>

namespace kvcast::tinylm {

Result<KvCache> KvCache::Of(const Config& config, uint32_t page_tokens, uint32_t page_count) {
  if (page_tokens == 0 || page_count == 0) {
    return Error(ErrorCode::kInvalid, "A KV cache has pages, and a page has tokens.");
  }
  return KvCache(config, page_tokens, page_count);
}

KvCache::KvCache(const Config& config, uint32_t page_tokens, uint32_t page_count)
    : layers_(config.layers),
      heads_(config.kv_heads),
      head_size_(config.head_size),
      page_tokens_(page_tokens),
      page_count_(page_count),
      memory_(layers_ * 2 * plane_bytes()) {
  for (uint32_t page = page_count; page > 0; --page) {
    free_.push_back(page - 1);
  }
}

Result<void> KvCache::Reserve(Sequence& sequence, uint32_t tokens) {
  const size_t wanted = (size_t{tokens} + page_tokens() - 1) / page_tokens();
  if (wanted > sequence.pages.size() + free_.size()) {
    return Error(ErrorCode::kTooLarge, std::to_string(tokens) + " tokens need " +
                                           std::to_string(wanted) + " pages; " +
                                           std::to_string(free_.size()) + " are free.");
  }
  while (sequence.pages.size() < wanted) {
    sequence.pages.push_back(free_.back());
    free_.pop_back();
  }
  return {};
}

void KvCache::Release(Sequence& sequence) {
  free_.insert(free_.end(), sequence.pages.begin(), sequence.pages.end());
  sequence = {};
}

}  // namespace kvcast::tinylm
