#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/block_shape.h"

namespace kvcast {

// In which order a page keeps its tokens (N) and heads (H) before the values (D) of one.
enum class PageOrder : uint8_t { kNhd, kHnd };

// Where a layer's K and V lie.
enum class KvPlacement : uint8_t {
  kApart,        // Two buffers of [page, ...].
  kPlanesFirst,  // One buffer of [2, page, ...].
  kPagesFirst,   // One buffer of [page, 2, ...].
};

// How an engine lays out the layers whose pages one table names.
struct PageFormat {
  PageOrder order = PageOrder::kNhd;
  KvPlacement placement = KvPlacement::kApart;
  uint32_t page_tokens = 16;
  uint32_t value_bytes = 2;
  // How many the engine has. With 0 it is worked out from the memory, and a head size that is not
  // the engine's own may go unnoticed: whoever knows should say it.
  uint32_t page_count = 0;
};

// One layer's memory. `value` stays empty unless K and V lie apart; for MLA it is always empty.
struct LayerMemory {
  std::span<std::byte> key;
  std::span<std::byte> value;
  // Which of the engine's page tables names its pages: 0 unless it keeps several, as some do for
  // models that mix layers with a window and without.
  uint32_t table = 0;
};

// An engine's paged KV cache as kvcast sees it: where, in the engine's own memory, the values of
// any layer, page, token and head begin. Copies nothing, owns nothing; the memory must outlive it.
class PagedCache {
 public:
  // Invalid: a buffer that is not a whole number of pages, or layers of one table with different
  // numbers of pages, or of others than its format says, or formats of different values.
  // `shape` says what a token caches; its number of tokens does not matter here.
  static Result<PagedCache> Of(const BlockShape& shape, const PageFormat& format,
                               std::span<const LayerMemory> layers) {
    return OfTables(shape, std::span(&format, 1), layers);
  }
  // With a format for each of the engine's page tables.
  static Result<PagedCache> OfTables(const BlockShape& shape, std::span<const PageFormat> formats,
                                     std::span<const LayerMemory> layers);

  size_t table_count() const { return tables_.size(); }
  uint32_t page_count(size_t table = 0) const { return tables_[table].page_count; }
  uint32_t page_tokens(size_t table = 0) const { return tables_[table].page_tokens; }
  uint32_t value_bytes() const { return value_bytes_; }
  size_t table_of(size_t layer) const { return strides_[layer * 2].table; }
  std::span<const LayerShape> layers() const { return layers_; }

  // Where the values of one token and head begin; `size(plane) * value_bytes()` bytes follow in
  // one piece. REQUIRES: all within bounds.
  std::byte* At(size_t layer, Plane plane, uint32_t page, uint32_t token, uint32_t head) const {
    const Strides& strides = strides_[layer * 2 + static_cast<size_t>(plane)];
    return strides.base + page * strides.page + token * strides.token + head * strides.head;
  }
  // From one head of a token to the next, in bytes; the row's own length if heads are adjacent.
  size_t head_stride(size_t layer, Plane plane) const {
    return strides_[layer * 2 + static_cast<size_t>(plane)].head;
  }

 private:
  struct Strides {
    std::byte* base = nullptr;
    size_t page = 0;
    size_t token = 0;
    size_t head = 0;
    size_t table = 0;
  };
  struct Table {
    uint32_t page_tokens = 0;
    uint32_t page_count = 0;
  };
  PagedCache() = default;
  static Strides StridesOf(const LayerShape& layer, Plane plane, const PageFormat& format,
                           const LayerMemory& memory, uint32_t pages);
  Result<void> AddTables(std::span<const PageFormat> formats);
  Result<void> AddLayer(const LayerShape& layer, std::span<const PageFormat> formats,
                        const LayerMemory& memory);

  std::vector<LayerShape> layers_;
  std::vector<Strides> strides_;  // K and V of each layer.
  std::vector<Table> tables_;
  uint32_t value_bytes_ = 0;
};

}  // namespace kvcast
