#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/engine/c_cache.h"
#include "kvcast/engine/c_report.h"
#include "kvcast/engine/live_prefetch.h"

// Blocks that are brought to the host before they are loaded, in the C interface.

struct kvcast_prefetch {
  const kvcast_cache* cache;
  size_t blocks;            // Of the prompt.
  uint64_t skipped_tokens;  // The engine has them.
  std::unique_ptr<kvcast::LivePrefetch> live;
};

namespace kvcast {
namespace {

Result<kvcast_code> BeginPrefetch(kvcast_cache& cache, const kvcast_prompt* prompt,
                                  const kvcast_terms* terms, kvcast_prefetch** prefetch) {
  if (prefetch == nullptr) {
    return NoCache();
  }
  *prefetch = nullptr;
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(const GivenPrompt given, GivenPrompt::Of(cache, prompt));
  auto begun = std::make_unique<kvcast_prefetch>();
  begun->cache = &cache;
  begun->blocks = given.chain.blocks().size();
  begun->skipped_tokens = given.SkippedTokens(taken);
  begun->live = cache.node->BeginPrefetch(
      FindPrompt(cache, given, taken), given.chain.blocks(),
      {.terms = {.deadline = taken.deadline, .waits = taken.follow.has_value()},
       .tag = taken.tag,
       .news = cache.news.get()});
  *prefetch = begun.release();
  return KVCAST_OK;
}

Result<kvcast_code> WaitForPrefetch(kvcast_prefetch* prefetch, int64_t wait_us,
                                    kvcast_report* report) {
  if (prefetch == nullptr) {
    return NoCache();
  }
  KVCAST_TRY_VOID(Tell({}, "", report));
  const std::optional<PrefetchReport>& ended = prefetch->live->Wait(UntilEnd(wait_us));
  if (!ended) {
    return KVCAST_PENDING;
  }
  const size_t blocks = ended->first_block + ended->blocks;
  kvcast_report said = ReportOf(*prefetch->cache, blocks, ended->bytes);
  said.tokens = std::max(said.tokens, prefetch->skipped_tokens);
  said.held = ended->held;
  std::string reason = ended->reason;
  if (ended->fault) {
    said.status = StatusOf(*ended->fault);
  } else if (blocks < prefetch->blocks) {
    said.status = KVCAST_ITEM_ABSENT;
    reason = "No more blocks are known of.";
  }
  KVCAST_TRY_VOID(Tell(said, reason, report));
  delete prefetch;
  return KVCAST_OK;
}

}  // namespace
}  // namespace kvcast

extern "C" {

kvcast_code kvcast_cache_begin_prefetch(kvcast_cache* cache, const kvcast_prompt* prompt,
                                        const kvcast_terms* terms, kvcast_prefetch** prefetch) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::BeginPrefetch(it, prompt, terms, prefetch); });
}

kvcast_code kvcast_prefetch_wait(kvcast_prefetch* prefetch, int64_t wait_us,
                                 kvcast_report* report) {
  return kvcast::Guarded([&] { return kvcast::WaitForPrefetch(prefetch, wait_us, report); });
}

void kvcast_prefetch_abandon(kvcast_prefetch* prefetch) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    delete prefetch;
    return KVCAST_OK;
  });
}

}  // extern "C"
