#include "examples/tinylm/inference/kv_cache.h"

#include <string>
#include <utility>

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kValueBytes = 2;

}  // namespace

Result<KvCache> KvCache::Of(const Config& config, uint32_t page_tokens, uint32_t page_count) {
  if (page_tokens == 0 || page_count == 0) {
    return Error(ErrorCode::kInvalid, "A KV cache has pages, and a page has tokens.");
  }
  const size_t plane_bytes = size_t{page_count} * page_tokens * config.kv_size() * kValueBytes;
  std::vector<std::byte> memory(config.layers * 2 * plane_bytes);
  std::vector<LayerMemory> layers;
  for (size_t i = 0; i < config.layers; ++i) {
    const std::span<std::byte> layer = std::span(memory).subspan(i * 2 * plane_bytes);
    layers.push_back({layer.first(plane_bytes), layer.subspan(plane_bytes, plane_bytes)});
  }
  const PageFormat format{PageOrder::kNhd, KvPlacement::kApart, page_tokens, kValueBytes,
                          page_count};
  KVCAST_TRY(PagedCache pages,
             PagedCache::Of(BlockShape(config.kv_layers(), page_tokens), format, layers));
  return KvCache(std::move(memory), std::move(pages));
}

KvCache::KvCache(std::vector<std::byte> memory, PagedCache pages)
    : memory_(std::move(memory)), pages_(std::move(pages)) {
  for (uint32_t page = pages_.page_count(); page > 0; --page) {
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
