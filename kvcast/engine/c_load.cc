#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/codec/rung_promise.h"
#include "kvcast/engine/c_cache.h"
#include "kvcast/engine/c_report.h"
#include "kvcast/engine/live_load.h"

// Loads of the C interface: those that are waited for, and those that are not.
namespace kvcast {

// Which of a prompt's blocks a load is about.
struct LoadScope {
  const kvcast_cache* cache;
  uint64_t skipped_tokens;  // The engine has them,
  size_t skipped;           // and so many whole blocks of them.
  size_t blocks;            // The prompt's.
  size_t wanted;            // The first so many of them, with those that are skipped.

  size_t BlocksIn(uint64_t tokens) const {
    return static_cast<size_t>(std::min<uint64_t>(tokens / cache->block_tokens, SIZE_MAX));
  }
  uint64_t TokensWith(size_t loaded) const {
    return std::max<uint64_t>((skipped + loaded) * cache->block_tokens, skipped_tokens);
  }
};

}  // namespace kvcast

struct kvcast_loading {
  kvcast::LoadScope scope;
  std::unique_ptr<kvcast::LossyLoad> lossy;  // Null: only the very values come.
  std::unique_ptr<kvcast::LiveLoad> live;
};

namespace kvcast {
namespace {

// All that a load needs.
struct LoadOrder {
  GivenPrompt prompt;
  CacheMatch match;
  PromptPages pages;
  NodeConnection::LoadCall call;
  LoadScope scope;
  uint64_t room_tokens;
  std::optional<Rung> lossy;  // At which it may come, if that changes values.

  // Of what may be loaded, which is none of those that are skipped.
  std::span<const BlockHash> CommonNames() const {
    return prompt.common.blocks().subspan(scope.skipped);
  }
  static Result<LoadOrder> Of(const kvcast_cache& cache, const kvcast_prompt* prompt,
                              const kvcast_terms* terms);
};

Result<LoadOrder> LoadOrder::Of(const kvcast_cache& cache, const kvcast_prompt* prompt,
                                const kvcast_terms* terms) {
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(GivenPrompt given, GivenPrompt::Of(cache, prompt));
  CacheMatch match = FindPrompt(cache, given, taken);
  const LoadScope scope{.cache = &cache,
                        .skipped_tokens = given.SkippedTokens(taken),
                        .skipped = match.first_block(),
                        .blocks = given.chain.blocks().size(),
                        .wanted = taken.follow ? given.BlocksWithPages(cache) : match.end_block()};
  KVCAST_TRY(PromptPages pages, given.Pages(cache, std::max(scope.wanted, match.end_block())));
  NodeConnection::LoadCall call{.deadline = taken.deadline,
                                .compute_per_block = taken.compute_per_block,
                                .follow = taken.follow,
                                .tag = taken.tag,
                                .news = cache.news.get()};
  if (call.follow && taken.expected_tokens > 0) {
    call.follow->expected = static_cast<size_t>(taken.expected_tokens / cache.block_tokens);
  }
  return LoadOrder{std::move(given),
                   std::move(match),
                   std::move(pages),
                   std::move(call),
                   scope,
                   taken.room_tokens,
                   taken.rung && !IsExact(*taken.rung) ? taken.rung : std::nullopt};
}

// Where a caller wants to know of each block, if it does.
struct BlockPlaces {
  kvcast_block* blocks;
  size_t size;
  size_t* count;
};

Result<void> TellLoad(const LoadScope& scope, const LoadReport& report, kvcast_report* told,
                      const std::optional<BlockPlaces>& places) {
  kvcast_report said = ReportOf(*scope.cache, scope.skipped + report.loaded(), report.bytes);
  said.tokens = scope.TokensWith(report.loaded());
  said.live = report.live;
  said.prefetched = report.prefetched;
  std::string reason = report.reason;
  if (const std::optional<BlockOutcome> fault = report.fault()) {
    said.status = StatusOf(*fault);
  } else if (scope.wanted < scope.blocks) {
    said.status = KVCAST_ITEM_ABSENT;
    reason = "No more blocks are known of.";
  }
  KVCAST_TRY_VOID(Tell(said, reason, told));
  if (places) {
    TellBlocks(report, scope.skipped, scope.blocks, places->blocks, places->size, places->count);
  }
  return {};
}

Result<kvcast_code> Load(kvcast_cache& cache, const kvcast_prompt* prompt,
                         const kvcast_terms* terms, kvcast_report* report,
                         const std::optional<BlockPlaces>& places) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  if (places) {
    KVCAST_TRY_VOID(CheckPlaces(places->blocks, places->size, places->count));
  }
  KVCAST_TRY(const LoadOrder order, LoadOrder::Of(cache, prompt, terms));
  KVCAST_TRY(const LoadReport loaded,
             cache.node->Load(order.match, order.prompt.chain.blocks(), order.pages, order.call));
  cache.lossy->Add(order.CommonNames(), loaded);
  KVCAST_TRY_VOID(TellLoad(order.scope, loaded, report, places));
  return KVCAST_OK;
}

Result<kvcast_code> BeginLoad(kvcast_cache& cache, const kvcast_prompt* prompt,
                              const kvcast_terms* terms, kvcast_loading** loading) {
  if (loading == nullptr) {
    return NoCache();
  }
  *loading = nullptr;
  KVCAST_TRY(LoadOrder order, LoadOrder::Of(cache, prompt, terms));
  order.call.room = order.scope.BlocksIn(order.room_tokens);
  auto lossy = order.lossy
                   ? std::make_unique<LossyLoad>(cache.lossy, order.CommonNames(), *order.lossy)
                   : nullptr;
  KVCAST_TRY(
      std::unique_ptr<LiveLoad> live,
      cache.node->BeginLoad(order.match, order.prompt.chain.blocks(), order.pages, order.call));
  *loading = new kvcast_loading{order.scope, std::move(lossy), std::move(live)};
  return KVCAST_OK;
}

Result<kvcast_code> WaitForLoad(kvcast_loading* loading, int64_t wait_us, kvcast_report* report,
                                const std::optional<BlockPlaces>& places) {
  if (loading == nullptr) {
    return NoCache();
  }
  KVCAST_TRY_VOID(Tell({}, "", report));
  if (places) {
    KVCAST_TRY_VOID(CheckPlaces(places->blocks, places->size, places->count));
  }
  const std::optional<LoadReport>& ended = loading->live->Wait(UntilEnd(wait_us));
  if (!ended) {
    return KVCAST_PENDING;
  }
  if (loading->lossy) {
    loading->lossy->Ended(*ended);
  }
  KVCAST_TRY_VOID(TellLoad(loading->scope, *ended, report, places));
  delete loading;
  return KVCAST_OK;
}

}  // namespace
}  // namespace kvcast

extern "C" {

kvcast_code kvcast_cache_load(kvcast_cache* cache, const kvcast_prompt* prompt,
                              const kvcast_terms* terms, kvcast_report* report) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::Load(it, prompt, terms, report, {}); });
}

kvcast_code kvcast_cache_load_blocks(kvcast_cache* cache, const kvcast_prompt* prompt,
                                     const kvcast_terms* terms, kvcast_report* report,
                                     kvcast_block* blocks, size_t block_size, size_t* count) {
  return kvcast::WithCache(cache, [&](kvcast_cache& it) {
    return kvcast::Load(it, prompt, terms, report, kvcast::BlockPlaces{blocks, block_size, count});
  });
}

kvcast_code kvcast_cache_begin_load(kvcast_cache* cache, const kvcast_prompt* prompt,
                                    const kvcast_terms* terms, kvcast_loading** loading) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::BeginLoad(it, prompt, terms, loading); });
}

uint64_t kvcast_loading_tokens(const kvcast_loading* loading) {
  return loading == nullptr ? 0 : loading->scope.TokensWith(loading->live->loaded());
}

void kvcast_loading_room(kvcast_loading* loading, uint64_t tokens) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (loading != nullptr) {
      loading->live->Room(loading->scope.BlocksIn(tokens));
    }
    return KVCAST_OK;
  });
}

void kvcast_loading_cancel(kvcast_loading* loading) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (loading != nullptr) {
      loading->live->Cancel();
    }
    return KVCAST_OK;
  });
}

kvcast_code kvcast_loading_wait(kvcast_loading* loading, int64_t wait_us, kvcast_report* report,
                                kvcast_block* blocks, size_t block_size, size_t* count) {
  return kvcast::Guarded([&] {
    const bool wants_blocks = blocks != nullptr || count != nullptr;
    return kvcast::WaitForLoad(loading, wait_us, report,
                               wants_blocks
                                   ? std::optional(kvcast::BlockPlaces{blocks, block_size, count})
                                   : std::nullopt);
  });
}

void kvcast_loading_abandon(kvcast_loading* loading) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (loading != nullptr && loading->lossy) {  // The engine may use what it was told of.
      loading->lossy->GivenUp(loading->live->loaded());
    }
    delete loading;
    return KVCAST_OK;
  });
}

}  // extern "C"
