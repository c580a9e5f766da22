#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast::sim {

// The prompts of a world, as the names of their blocks: they begin alike more or less far.
class RoadPrompts {
 public:
  static constexpr size_t kPrompts = 6;
  static constexpr size_t kBlocksMax = 6;
  static constexpr uint32_t kBlockTokens = 4;

  RoadPrompts();
  const std::vector<BlockHash>& blocks(size_t prompt) const { return blocks_[prompt]; }
  const CacheKind& kind() const { return kind_; }

 private:
  CacheKind kind_;
  std::vector<std::vector<BlockHash>> blocks_;
};

// An engine of a made-up model. Its pages are laid out as it pleases, and what it computes for a
// block no other engine computes: as with real ones, whose kernels round differently.
class RoadEngine {
 public:
  RoadEngine(uint64_t number, Random& random);
  RoadEngine(RoadEngine&&) = default;

  // What the engine `number` computes for a block: its values in canonical order.
  static std::string Values(uint64_t number, const BlockHash& block);

  uint64_t number() const { return number_; }
  // Its pages, from the first block of a prompt on.
  PromptPages Pages(size_t blocks) const;
  // The pages hold what this engine computes.
  void Compute(const std::vector<BlockHash>& blocks);
  // Those of one block do.
  void ComputeBlock(const std::vector<BlockHash>& blocks, size_t block);
  // The pages hold nothing that means anything.
  void Scribble(Random& random);
  // What a block's pages hold, in canonical order.
  std::string Read(size_t block) const;

 private:
  // Calls row(bytes of one token, layer, plane and head) in canonical order.
  template <typename Row>
  void ForRows(size_t block, Row row) const;

  uint64_t number_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<uint32_t> table_;
  std::optional<PagedCache> cache_;
};

}  // namespace kvcast::sim
