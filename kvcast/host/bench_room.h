#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kvcast/base/result.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/host/bench_pool.h"
#include "kvcast/host/cache_rows.h"

namespace kvcast {

// The pages of an engine that loads: room for one prompt, which is compared with what was
// published. Belongs to one thread.
class BenchRoom {
 public:
  // REQUIRES: a pool that outlives it; blocks > 0.
  static Result<std::unique_ptr<BenchRoom>> Make(const BenchPool& pool, size_t blocks);

  size_t blocks() const { return blocks_; }
  // Where the first so many blocks go. REQUIRES: so many at most.
  Result<PromptPages> Pages(size_t blocks) const;
  // Spoils every row of the first so many, lest what was there before passes for loaded.
  void Spoil(size_t blocks);
  // Whether block `index` of the prompt is exactly block `number` of the pool.
  bool IsExactly(size_t index, uint64_t number) const;
  // By how much some of its rows differ, as a share of what they are: the root of the mean square.
  double ErrorOf(size_t index, uint64_t number) const;

 private:
  BenchRoom(const BenchPool& pool, size_t blocks);
  std::span<const std::byte> PageValues(size_t page, size_t layer, Plane plane) const;

  const BenchPool* pool_;
  const size_t blocks_;
  CacheRows rows_;
  std::unique_ptr<PagedCache> cache_;
};

}  // namespace kvcast
