#include "kvcast/host/pace_sample.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "kvcast/host/cache_rows.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// Enough for a connection to come up to speed, and no more than one waits for gladly.
constexpr uint64_t kSampleBytes = uint64_t{4} << 20;
constexpr Duration kSamplePatience = std::chrono::seconds(3);

// The truest rung that can be decoded here, as a real load would take; of few bytes.
CacheMatch MatchToSample(const CacheTask& task, NodeConnection& node, std::span<const Rung> rungs) {
  for (const Rung rung : rungs) {
    if (!task.ladder.Loads(rung)) {
      continue;
    }
    const auto first = [&](size_t blocks) {
      return node.Find(task.chain.blocks().first(blocks), 0, std::span(&rung, 1), task.generation);
    };
    const CacheMatch all = first(task.chain.blocks().size());
    if (all.empty()) {
      continue;
    }
    size_t blocks = 0;
    for (uint64_t bytes = 0; blocks < all.block_count() && bytes < kSampleBytes; ++blocks) {
      bytes += all.BytesAt(blocks, rung).value_or(0);
      if (blocks > 0 && bytes > kSampleBytes) {
        break;
      }
    }
    return first(blocks);
  }
  return CacheMatch::None(0);
}

}  // namespace

void SamplePace(const CacheTask& task, NodeConnection& node, std::span<const Rung> rungs) {
  const CacheMatch match = MatchToSample(task, node, rungs);
  const size_t blocks = match.block_count();
  if (blocks == 0) {
    return;
  }
  CacheRows rows(task.shape.layers(), task.values, blocks * task.shape.tokens());
  const std::vector<LayerMemory> memory = rows.Memory();
  const Result<PagedCache> cache = BlocksInARow(task.shape, task.values, memory);
  if (!cache.ok()) {
    return;
  }
  const Result<PromptPages> pages =
      PromptPages::OfSlice(*cache, PagesInARow(blocks), task.shape.tokens(), blocks, task.slice);
  if (pages.ok()) {
    NodeConnection::LoadCall call;
    call.deadline = std::min(task.deadline, Now() + kSamplePatience);
    (void)node.Load(match, task.chain.blocks(), *pages, call).ok();
  }
}

}  // namespace kvcast
