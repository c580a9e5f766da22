#include "kvcast/kv/paged_cache.h"

#include <algorithm>
#include <limits>
#include <string>

namespace kvcast {
namespace {

Error Invalid(size_t layer, std::string message) {
  return Error(ErrorCode::kInvalid, std::move(message)).In("layer " + std::to_string(layer));
}

size_t PlanePageBytes(const LayerShape& layer, Plane plane, const PageFormat& format) {
  return size_t{format.page_tokens} * layer.kv_heads * layer.size(plane) * format.value_bytes;
}

// Whether a page of both planes has less than 2^63 bytes, so that no product above wraps.
bool PageFits(const LayerShape& layer, const PageFormat& format) {
  size_t bytes = size_t{format.page_tokens} * layer.kv_heads;
  return !__builtin_mul_overflow(bytes, size_t{layer.key_size} + layer.value_size, &bytes) &&
         !__builtin_mul_overflow(bytes, size_t{format.value_bytes}, &bytes) &&
         bytes <= std::numeric_limits<size_t>::max() / 2;
}

// How many pages `memory` holds when one takes `page_bytes`.
Result<uint32_t> Pages(size_t layer, std::span<const std::byte> memory, size_t page_bytes) {
  const size_t pages = memory.size() / page_bytes;
  if (memory.size() % page_bytes != 0 || pages > std::numeric_limits<uint32_t>::max()) {
    return Invalid(layer, "A buffer of " + std::to_string(memory.size()) +
                              " bytes is not a whole number of pages of " +
                              std::to_string(page_bytes) + ".");
  }
  return static_cast<uint32_t>(pages);
}

}  // namespace

PagedCache::Strides PagedCache::StridesOf(const LayerShape& layer, Plane plane,
                                          const PageFormat& format, const LayerMemory& memory,
                                          uint32_t pages) {
  const size_t key_page = PlanePageBytes(layer, Plane::kKey, format);
  const size_t value_page = PlanePageBytes(layer, Plane::kValue, format);
  const bool is_key = plane == Plane::kKey;
  Strides strides;
  strides.base = memory.key.data();
  strides.page = is_key ? key_page : value_page;
  switch (format.placement) {
    case KvPlacement::kApart:
      strides.base = is_key ? memory.key.data() : memory.value.data();
      break;
    case KvPlacement::kPlanesFirst:
      strides.base += is_key ? 0 : pages * key_page;
      break;
    case KvPlacement::kPagesFirst:
      strides.base += is_key ? 0 : key_page;
      strides.page = key_page + value_page;
      break;
  }
  const size_t row = size_t{layer.size(plane)} * format.value_bytes;
  const bool tokens_first = format.order == PageOrder::kNhd;
  strides.token = tokens_first ? row * layer.kv_heads : row;
  strides.head = tokens_first ? row : row * format.page_tokens;
  return strides;
}

Result<PagedCache> PagedCache::Of(const BlockShape& shape, const PageFormat& format,
                                  std::span<const LayerMemory> layers) {
  if (layers.size() != shape.layers().size() || layers.empty()) {
    return Error(ErrorCode::kInvalid, "Memory was given for " + std::to_string(layers.size()) +
                                          " layers; the model has " +
                                          std::to_string(shape.layers().size()) + ".");
  }
  if (format.page_tokens == 0 || format.value_bytes == 0) {
    return Error(ErrorCode::kInvalid, "A page has at least one token and a value one byte.");
  }
  PagedCache cache;
  cache.layers_.assign(shape.layers().begin(), shape.layers().end());
  cache.page_tokens_ = format.page_tokens;
  cache.value_bytes_ = format.value_bytes;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerShape& layer = cache.layers_[i];
    if (!PageFits(layer, format)) {
      return Invalid(i, "A page of it would have more bytes than there are.");
    }
    const size_t key_bytes = PlanePageBytes(layer, Plane::kKey, format);
    const size_t value_bytes = PlanePageBytes(layer, Plane::kValue, format);
    const bool apart = format.placement == KvPlacement::kApart;
    KVCAST_TRY(const uint32_t pages,
               Pages(i, layers[i].key, apart ? key_bytes : key_bytes + value_bytes));
    const size_t value_expected = apart ? size_t{pages} * value_bytes : 0;
    if (layers[i].value.size() != value_expected) {
      return Invalid(i, "The buffer of V has " + std::to_string(layers[i].value.size()) +
                            " bytes; " + std::to_string(value_expected) + " were expected.");
    }
    if (i > 0 && pages != cache.page_count_) {
      return Invalid(i, "It has " + std::to_string(pages) + " pages; the layers before it have " +
                            std::to_string(cache.page_count_) + ".");
    }
    if (format.page_count != 0 && pages != format.page_count) {
      return Invalid(i, "It holds " + std::to_string(pages) + " pages of " +
                            std::to_string(layer.kv_heads) + " heads of " +
                            std::to_string(layer.key_size) + " values; the engine has " +
                            std::to_string(format.page_count) +
                            " pages, so its heads are of another size or number.");
    }
    cache.page_count_ = pages;
    cache.strides_.push_back(StridesOf(layer, Plane::kKey, format, layers[i], pages));
    cache.strides_.push_back(StridesOf(layer, Plane::kValue, format, layers[i], pages));
  }
  return cache;
}

}  // namespace kvcast
