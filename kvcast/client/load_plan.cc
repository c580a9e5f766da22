#include "kvcast/client/load_plan.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

// A block that very many publish, or are said to, is no reason to compare them all.
constexpr size_t kCandidatesMax = 16;

// The sources of one block that an engine can use.
std::vector<BlockSource> UsableSources(const PrefixIndex& index, const PrefixMatch& match,
                                       size_t block, const CacheKind& kind) {
  std::vector<BlockSource> sources = index.Sources(match, block);
  std::erase_if(sources, [&](const BlockSource& source) { return !kind.Includes(source.track); });
  return sources;
}

// The runs that go on in the next block, with that block in them.
std::vector<LoadRun> Extended(const std::vector<LoadRun>& runs,
                              const std::vector<BlockSource>& sources) {
  std::vector<LoadRun> extended;
  for (const LoadRun& run : runs) {
    const auto next = std::ranges::find_if(sources, [&](const BlockSource& source) {
      return source.group == run.first_group + run.block_count && source.track == run.track;
    });
    if (next != sources.end()) {
      extended.push_back(run);
      ++extended.back().block_count;
      extended.back().bytes += next->bytes;
    }
  }
  return extended;
}

}  // namespace

// Of all runs that begin at a block, the one that reaches furthest: no other choice needs fewer.
LoadPlan LoadPlan::Of(const PrefixIndex& index, std::span<const BlockHash> blocks,
                      const CacheKind& kind, size_t first_block) {
  LoadPlan plan;
  plan.rung_ = kind.rung();
  plan.first_block_ = std::min(first_block, blocks.size());
  const PrefixMatch match = index.LongestMatch(blocks);
  std::vector<LoadRun> open;
  for (size_t block = plan.first_block_; match.Has(block); ++block) {
    const std::vector<BlockSource> sources = UsableSources(index, match, block, kind);
    if (sources.empty()) {
      break;
    }
    std::vector<LoadRun> extended = Extended(open, sources);
    if (extended.empty()) {
      if (!open.empty()) {
        plan.runs_.push_back(std::move(open.front()));
      }
      for (const BlockSource& source :
           std::span(sources).first(std::min(sources.size(), kCandidatesMax))) {
        extended.push_back({source.track, source.group, block, 1, source.bytes});
      }
    }
    open = std::move(extended);
  }
  if (!open.empty()) {
    plan.runs_.push_back(std::move(open.front()));
  }
  return plan;
}

size_t LoadPlan::block_count() const {
  return runs_.empty() ? 0 : runs_.back().first_block + runs_.back().block_count - first_block_;
}

uint64_t LoadPlan::bytes() const {
  uint64_t bytes = 0;
  for (const LoadRun& run : runs_) {
    bytes += run.bytes;
  }
  return bytes;
}

}  // namespace kvcast
