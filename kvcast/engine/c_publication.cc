#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/engine/c_cache.h"
#include "kvcast/engine/c_report.h"
#include "kvcast/engine/live_publication.h"

// Publications of the C interface: those that are waited for, and those that are not.

namespace kvcast {

// What was kept back, at any of the rungs, since it is not as true as that one.
struct LessTrueBlocks {
  std::optional<Rung> came;  // Absent: nothing was.
  size_t first = SIZE_MAX;

  // How many of the prompt's first blocks may be published.
  size_t Left(size_t blocks, const LossyBlocks::Extent& extent) {
    if (extent.blocks < std::min(blocks, first)) {
      first = extent.blocks;
      came = extent.came;
    }
    return std::min(blocks, extent.blocks);
  }
  // A report of those that were not.
  void Tell(const kvcast_cache& cache, kvcast_report& said, std::string& reason) const {
    if (!came || said.status != KVCAST_ITEM_PENDING) {
      return;
    }
    const kvcast_report left = ReportOf(cache, first, 0);
    said.blocks = left.blocks;
    said.tokens = left.tokens;
    said.status = KVCAST_ITEM_LOSSY;
    reason = "Block " + std::to_string(first) + " was loaded as " + std::string(ToString(*came)) +
             ": that one, and what was computed on it, can be published at no truer rung. If the " +
             "engine has computed it again, the terms say so: exact_tokens.";
  }
};

}  // namespace kvcast

struct kvcast_publication {
  const kvcast_cache* cache;
  kvcast::GivenPrompt prompt;
  kvcast::CacheTerms terms;
  size_t blocks;
  std::vector<kvcast::Rung> rungs;
  std::vector<std::unique_ptr<kvcast::LivePublication>> live;  // One for each of them.
  kvcast::LessTrueBlocks less_true{};
};

namespace kvcast {
namespace {

std::vector<Rung> PublishedRungs(const kvcast_cache& cache, const CacheTerms& terms) {
  return terms.rung ? std::vector<Rung>{*terms.rung} : cache.ladder.PublishedByDefault(cache.slice);
}

// What became of one rung; false if that is the end of all of them.
bool Count(const PublishReport& published, kvcast_report& said, std::string& reason) {
  said.bytes += published.bytes;
  if (published.fault) {
    said.blocks = said.tokens = 0;
    said.status = StatusOf(*published.fault);
    reason = published.reason;
  }
  return !published.fault;
}

// What all rungs came to: those up to the first that failed.
Result<void> TellPublication(const kvcast_cache& cache, const LessTrueBlocks& less_true,
                             const std::vector<PublishReport>& rungs, kvcast_report* report) {
  kvcast_report said{};
  std::string reason;
  std::optional<Durability> reached;
  for (size_t i = 0; i < rungs.size(); ++i) {
    if (i == 0) {
      said = ReportOf(cache, rungs[i].blocks, 0);
      said.held = rungs[i].skipped;
    }
    // What is listed is in memory, or better, though nobody was asked.
    const Durability level = rungs[i].reached.value_or(Durability::kMemory);
    reached = std::min(reached.value_or(level), level);
    if (!Count(rungs[i], said, reason)) {
      break;
    }
  }
  if (said.status == KVCAST_ITEM_PENDING) {
    said.durability = static_cast<int32_t>(reached.value_or(Durability::kMemory));
  }
  less_true.Tell(cache, said, reason);
  said.held = std::min(said.held, said.blocks);
  return Tell(said, reason, report);
}

Result<kvcast_code> Publish(kvcast_cache& cache, const kvcast_prompt* prompt,
                            const kvcast_terms* terms, kvcast_report* report) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(const GivenPrompt given, GivenPrompt::Of(cache, prompt));
  const size_t blocks = given.chain.blocks().size();
  std::vector<PublishReport> published;
  LessTrueBlocks less_true;
  for (const Rung rung : PublishedRungs(cache, taken)) {
    const size_t left = less_true.Left(blocks, given.PublishedAt(rung, cache, taken));
    if (left == 0) {
      continue;
    }
    KVCAST_TRY(const PromptPages pages, given.Pages(cache, left));
    KVCAST_TRY(
        published.emplace_back(),
        cache.node->Publish(given.chain.blocks().first(left), pages,
                            {taken.deadline, {}, {}, taken.durability, rung, taken.generation}));
    if (published.back().fault) {
      break;
    }
  }
  KVCAST_TRY_VOID(TellPublication(cache, less_true, published, report));
  return KVCAST_OK;
}

Result<kvcast_code> Begin(kvcast_cache& cache, const kvcast_prompt* prompt,
                          const kvcast_terms* terms, kvcast_publication** publication) {
  if (publication == nullptr) {
    return NoCache();
  }
  *publication = nullptr;
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(GivenPrompt given, GivenPrompt::Of(cache, prompt));
  const size_t blocks = given.chain.blocks().size();
  auto begun = std::make_unique<kvcast_publication>(kvcast_publication{
      &cache, std::move(given), taken, blocks, PublishedRungs(cache, taken), {}});
  for (const Rung rung : begun->rungs) {
    KVCAST_TRY(const PromptPages pages, begun->prompt.Pages(cache, blocks));
    KVCAST_TRY(begun->live.emplace_back(),
               cache.node->BeginPublish(begun->prompt.chain.blocks(), pages,
                                        {.durability = taken.durability,
                                         .rung = rung,
                                         .generation = taken.generation,
                                         .tag = taken.tag,
                                         .news = cache.news.get()}));
  }
  *publication = begun.release();
  return KVCAST_OK;
}

// What is known of a block when it is ready is what counts: it may have been loaded meanwhile.
void Ready(kvcast_publication& publication, uint64_t computed) {
  const auto blocks = static_cast<size_t>(std::min<uint64_t>(computed, publication.blocks));
  for (size_t i = 0; i < publication.live.size(); ++i) {
    const LossyBlocks::Extent extent =
        publication.prompt.PublishedAt(publication.rungs[i], *publication.cache, publication.terms);
    publication.live[i]->Ready(publication.less_true.Left(blocks, extent));
  }
}

Result<kvcast_code> Finish(std::unique_ptr<kvcast_publication> publication, int64_t timeout_us,
                           kvcast_report* report) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  const Instant deadline = DeadlineOf(timeout_us);
  std::vector<PublishReport> rungs;
  for (const std::unique_ptr<LivePublication>& live : publication->live) {
    rungs.push_back(live->Finish(deadline));
    if (rungs.back().fault) {
      break;  // The others are given up with it.
    }
  }
  KVCAST_TRY_VOID(TellPublication(*publication->cache, publication->less_true, rungs, report));
  return KVCAST_OK;
}

Result<kvcast_code> WaitForPublication(kvcast_publication* publication, int64_t wait_us,
                                       kvcast_report* report) {
  if (publication == nullptr) {
    return NoCache();
  }
  KVCAST_TRY_VOID(Tell({}, "", report));
  const Instant until = UntilEnd(wait_us);
  std::vector<PublishReport> rungs;
  for (const std::unique_ptr<LivePublication>& live : publication->live) {
    const std::optional<PublishReport>& ended = live->Wait(until);
    if (!ended) {
      return KVCAST_PENDING;
    }
    rungs.push_back(*ended);
    if (ended->fault) {
      break;  // As above.
    }
  }
  KVCAST_TRY_VOID(TellPublication(*publication->cache, publication->less_true, rungs, report));
  delete publication;
  return KVCAST_OK;
}

}  // namespace
}  // namespace kvcast

extern "C" {

kvcast_code kvcast_cache_publish(kvcast_cache* cache, const kvcast_prompt* prompt,
                                 const kvcast_terms* terms, kvcast_report* report) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::Publish(it, prompt, terms, report); });
}

kvcast_code kvcast_cache_begin(kvcast_cache* cache, const kvcast_prompt* prompt,
                               const kvcast_terms* terms, kvcast_publication** publication) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::Begin(it, prompt, terms, publication); });
}

kvcast_code kvcast_publication_ready(kvcast_publication* publication, uint64_t tokens) {
  return kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (publication == nullptr) {
      return kvcast::NoCache();
    }
    kvcast::Ready(*publication, tokens / publication->cache->block_tokens);
    return KVCAST_OK;
  });
}

kvcast_code kvcast_publication_finish(kvcast_publication* publication, int64_t timeout_us,
                                      kvcast_report* report) {
  return kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    std::unique_ptr<kvcast_publication> owned(publication);
    return owned == nullptr ? kvcast::Result<kvcast_code>(kvcast::NoCache())
                            : kvcast::Finish(std::move(owned), timeout_us, report);
  });
}

kvcast_code kvcast_publication_close(kvcast_publication* publication) {
  return kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (publication == nullptr) {
      return kvcast::NoCache();
    }
    for (const auto& live : publication->live) {
      live->Close();
    }
    return KVCAST_OK;
  });
}

kvcast_code kvcast_publication_wait(kvcast_publication* publication, int64_t wait_us,
                                    kvcast_report* report) {
  return kvcast::Guarded([&] { return kvcast::WaitForPublication(publication, wait_us, report); });
}

void kvcast_publication_abandon(kvcast_publication* publication) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    delete publication;
    return KVCAST_OK;
  });
}

}  // extern "C"
