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
  strides.table = memory.table;
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

Result<PagedCache> PagedCache::OfTables(const BlockShape& shape,
                                        std::span<const PageFormat> formats,
                                        std::span<const LayerMemory> layers) {
  if (layers.size() != shape.layers().size() || layers.empty()) {
    return Error(ErrorCode::kInvalid, "Memory was given for " + std::to_string(layers.size()) +
                                          " layers; the model has " +
                                          std::to_string(shape.layers().size()) + ".");
  }
  PagedCache cache;
  KVCAST_TRY_VOID(cache.AddTables(formats));
  for (size_t i = 0; i < layers.size(); ++i) {
    KVCAST_TRY_VOID(cache.AddLayer(shape.layers()[i], formats, layers[i]));
  }
  return cache;
}

Result<void> PagedCache::AddTables(std::span<const PageFormat> formats) {
  for (const PageFormat& format : formats) {
    if (format.page_tokens == 0 || format.value_bytes == 0) {
      return Error(ErrorCode::kInvalid, "A page has at least one token and a value one byte.");
    }
    if (format.value_bytes != formats[0].value_bytes) {
      return Error(ErrorCode::kInvalid, "Values have " + std::to_string(formats[0].value_bytes) +
                                            " bytes in one table and " +
                                            std::to_string(format.value_bytes) + " in another.");
    }
    value_bytes_ = format.value_bytes;
    tables_.push_back({format.page_tokens, format.page_count});
  }
  return {};
}

Result<void> PagedCache::AddLayer(const LayerShape& layer, std::span<const PageFormat> formats,
                                  const LayerMemory& memory) {
  const size_t i = layers_.size();
  if (memory.table >= formats.size()) {
    return Invalid(i, "Its pages are said to be in table " + std::to_string(memory.table) +
                          "; there are " + std::to_string(formats.size()) + ", from 0.");
  }
  const PageFormat& format = formats[memory.table];
  if (!PageFits(layer, format)) {
    return Invalid(i, "A page of it would have more bytes than there are.");
  }
  const size_t key_bytes = PlanePageBytes(layer, Plane::kKey, format);
  const size_t value_bytes = PlanePageBytes(layer, Plane::kValue, format);
  const bool apart = format.placement == KvPlacement::kApart;
  KVCAST_TRY(const uint32_t pages,
             Pages(i, memory.key, apart ? key_bytes : key_bytes + value_bytes));
  const size_t value_expected = apart ? size_t{pages} * value_bytes : 0;
  if (memory.value.size() != value_expected) {
    return Invalid(i, "The buffer of V has " + std::to_string(memory.value.size()) + " bytes; " +
                          std::to_string(value_expected) + " were expected.");
  }
  if (format.page_count != 0 && pages != format.page_count) {
    return Invalid(i, "It holds " + std::to_string(pages) + " pages of " +
                          std::to_string(layer.kv_heads) + " heads of " +
                          std::to_string(layer.key_size) + " values; the engine has " +
                          std::to_string(format.page_count) +
                          " pages, so its heads are of another size or number.");
  }
  Table& table = tables_[memory.table];
  const bool is_first = std::ranges::none_of(
      strides_, [&](const Strides& other) { return other.table == memory.table; });
  if (!is_first && pages != table.page_count) {
    return Invalid(i, "It has " + std::to_string(pages) + " pages; the layers before it have " +
                          std::to_string(table.page_count) + ".");
  }
  table.page_count = pages;
  layers_.push_back(layer);
  strides_.push_back(StridesOf(layer, Plane::kKey, format, memory, pages));
  strides_.push_back(StridesOf(layer, Plane::kValue, format, memory, pages));
  return {};
}

}  // namespace kvcast
