#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/host/bench_model.h"
#include "kvcast/host/cache_rows.h"

namespace kvcast {

// The pages of an engine that has prefilled every prompt there is: a number says what a block
// holds, so that whoever loads it knows what it has to be.
//
// Values are made up, and spread as those of caches are: by channel, values lean on their
// neighbours, keys come in pairs. A block's pages are drawn from those that there are, by its
// number; as blocks have several pages, hardly two of them are alike, and nothing is copied.
// Only read once it is made: any number of threads may.
class BenchPool {
 public:
  // REQUIRES: a model that outlives it.
  static Result<std::unique_ptr<BenchPool>> Make(const BenchModel& model, size_t bytes,
                                                 uint64_t seed);

  const BenchModel& model() const { return *model_; }
  uint32_t page_tokens() const { return page_tokens_; }
  size_t pages_per_block() const { return model_->shape.tokens() / page_tokens_; }
  // Which of the pool's pages block `number` has.
  std::vector<uint32_t> PagesOf(uint64_t number) const;
  // All that a prompt has, to publish.
  Result<PromptPages> Pages(std::span<const uint64_t> blocks) const;
  // A page's values in a layer's plane, in one piece.
  std::span<const std::byte> PageValues(uint32_t page, size_t layer, Plane plane) const;

  // Constants for rungs that need them, from some of these pages; with those of AC and KTC, which
  // take a while, if asked.
  Result<std::shared_ptr<const Calibration>> Calibrate(bool bands) const;

 private:
  BenchPool(const BenchModel& model, uint32_t page_tokens, uint32_t page_count);
  void Fill(uint64_t seed);
  Result<BlockView> Sample(uint32_t index) const;

  const BenchModel* model_;
  const uint32_t page_tokens_;
  const uint32_t page_count_;
  CacheRows rows_;
  std::unique_ptr<PagedCache> cache_;
};

// How many tokens an engine has in a page, for blocks of so many.
uint32_t BenchPageTokens(uint32_t block_tokens);

}  // namespace kvcast
