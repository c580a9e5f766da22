#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/paged_cache.h"

namespace kvcast {

// Memory for so many tokens of every layer, as KV files lay it out: K and V of each layer, token
// after token.
class CacheRows {
 public:
  CacheRows(std::span<const LayerShape> layers, ValueType type, size_t tokens);

  std::vector<LayerMemory> Memory();
  std::span<const std::byte> Values(size_t layer, Plane plane) const {
    return planes_[layer * 2 + static_cast<size_t>(plane)];
  }
  // The tokens that a plan is of, in a file that is there as a whole or not at all.
  Result<void> WriteAs(const KvFilePlan& plan, FileWriter writer) const;

 private:
  std::vector<std::vector<std::byte>> planes_;  // K and V of each layer.
};

// A file's first tokens as an engine's memory. Only ever to be read: pages are the engine's and so
// not const, but the file is.
std::vector<LayerMemory> MemoryOf(const KvFile& file, size_t tokens);

// Either of these, seen as pages of one block. `memory` must outlive it. REQUIRES: a whole number
// of blocks in each.
Result<PagedCache> BlocksInARow(const BlockShape& shape, ValueType type,
                                const std::vector<LayerMemory>& memory);
// The first so many pages.
std::vector<uint32_t> PagesInARow(size_t blocks);

}  // namespace kvcast
