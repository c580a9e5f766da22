#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/ladder.h"
#include "kvcast/engine/c_call.h"
#include "kvcast/engine/lossy_blocks.h"
#include "kvcast/engine/node_connection.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/prefix_chain.h"

// What the cache's functions of the C interface have in common.

struct kvcast_cache {
  kvcast::NamingKey key;
  kvcast::Digest fingerprint;
  uint32_t block_tokens;
  kvcast::Slice slice;
  kvcast::PagedCache pages;  // Of the slice alone.
  kvcast::Ladder ladder;
  std::shared_ptr<kvcast::LossyBlocks> lossy;    // Others on the same pages have it, too.
  std::shared_ptr<kvcast::NodeConnection> node;  // Others may have it, too,
  std::unique_ptr<kvcast::CallNews> news;        // but not this.
};

namespace kvcast {

Error NoCache();

// kvcast_terms, checked.
struct CacheTerms {
  Instant deadline;
  std::optional<Duration> compute_per_block;
  std::optional<Rung> rung;
  std::optional<Rung> best_rung;
  Durability durability = Durability::kMemory;
  std::optional<FollowTerms> follow;
  uint64_t expected_tokens = 0;
  std::optional<Generation> generation;
  uint64_t skip_tokens = 0;
  uint64_t tag = 0;
  uint64_t room_tokens = UINT64_MAX;
  uint64_t exact_tokens = 0;

  static Result<CacheTerms> Of(const kvcast_terms* terms);
};

// kvcast_prompt, checked and named.
struct GivenPrompt {
  PrefixChain chain;
  // The same under the public key, whoever's cache it is: by that LossyBlocks knows its blocks.
  PrefixChain common;
  uint64_t tokens;
  std::vector<uint32_t> pages;

  static Result<GivenPrompt> Of(const kvcast_cache& cache, const kvcast_prompt* prompt);
  Result<PromptPages> Pages(const kvcast_cache& cache, size_t blocks) const {
    return PromptPages::OfSlice(cache.pages, pages, cache.block_tokens, blocks, cache.slice);
  }
  // Tokens that the engine has, and of whole blocks those.
  uint64_t SkippedTokens(const CacheTerms& terms) const {
    return std::min(terms.skip_tokens, tokens);
  }
  size_t Skipped(const kvcast_cache& cache, const CacheTerms& terms) const {
    return static_cast<size_t>(
        std::min<uint64_t>(chain.blocks().size(), terms.skip_tokens / cache.block_tokens));
  }
  // How much of it may be published at a rung, for all that is known of its blocks.
  LossyBlocks::Extent PublishedAt(Rung rung, const kvcast_cache& cache,
                                  const CacheTerms& terms) const {
    const uint64_t exact = terms.exact_tokens / cache.block_tokens;
    return cache.lossy->PublishedAt(
        rung, common.blocks(),
        static_cast<size_t>(std::min<uint64_t>(exact, chain.blocks().size())));
  }
  size_t BlocksWithPages(const kvcast_cache& cache) const {
    return std::min(chain.blocks().size(),
                    pages.size() * cache.pages.page_tokens() / cache.block_tokens);
  }
};

// What is there up to a block.
kvcast_report ReportOf(const kvcast_cache& cache, size_t blocks, uint64_t bytes);
CacheMatch FindPrompt(const kvcast_cache& cache, const GivenPrompt& prompt,
                      const CacheTerms& terms);

template <typename Call>
kvcast_code WithCache(kvcast_cache* cache, const Call& call) {
  return Guarded([&]() -> Result<kvcast_code> {
    return cache == nullptr ? Result<kvcast_code>(NoCache()) : call(*cache);
  });
}

}  // namespace kvcast
