#include "kvcast/engine/c_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/engine/c_model.h"
#include "kvcast/engine/c_prompt.h"
#include "kvcast/engine/c_report.h"
#include "kvcast/engine/connection_pool.h"
#include "kvcast/engine/model_ladder.h"
#include "kvcast/io/clock.h"

// The cache's part of the C interface: what it is, and what can be had.
namespace kvcast {
namespace {

std::vector<Rung> LoadedRungs(const kvcast_cache& cache, const CacheTerms& terms) {
  if (!terms.rung) {
    return cache.ladder.LoadedByDefault();
  }
  return terms.best_rung ? cache.ladder.LoadedBetween(*terms.best_rung, *terms.rung)
                         : cache.ladder.LoadedDownTo(*terms.rung);
}

// Absent where none is named.
Result<std::optional<Rung>> RungNamed(const char* name) {
  if (name == nullptr) {
    return std::optional<Rung>();
  }
  const std::optional<Rung> rung = RungOf(name);
  if (!rung) {
    return Error(ErrorCode::kUnsupported,
                 "There is no such rung: kvcast rungs lists those there are.");
  }
  return rung;
}

Result<std::shared_ptr<NodeConnection>> Connect(const NodeTerms& terms,
                                                const ClientOptions& options) {
  if (!terms.own_connection) {
    return ConnectionPool::OfProcess().Open(terms.addresses, options, terms.patience);
  }
  KVCAST_TRY(std::unique_ptr<NodeConnection> connection,
             NodeConnection::Open(terms.addresses, options, terms.patience));
  return std::shared_ptr<NodeConnection>(std::move(connection));
}

Result<kvcast_code> Open(const kvcast_node* node, const kvcast_model* model,
                         const kvcast_pages* pages, kvcast_cache** cache) {
  if (cache == nullptr) {
    return NoCache();
  }
  *cache = nullptr;
  KVCAST_TRY(NodeTerms terms, NodeTerms::Of(node));
  KVCAST_TRY(const GivenModel given, GivenModel::Of(model));
  const Digest fingerprint = given.folder.description.Fingerprint();
  KVCAST_TRY(const ModelScope scope, ModelScope::Of(terms.tenant, given.folder.name, fingerprint));
  KVCAST_TRY(PagedCache paged, PagesOf(pages, given.shape));
  const HalfType halves = pages->values == KVCAST_FP16 ? HalfType::kFp16 : HalfType::kBf16;
  KVCAST_TRY(const Ladder ladder, LadderOfModel(given.path, given.calibration, halves));
  KVCAST_TRY(CallNews news, CallNews::Make());
  auto lossy = LossyBlocks::Of(pages->layers[0].key, fingerprint);
  KVCAST_TRY(
      std::shared_ptr<NodeConnection> connection,
      Connect(terms, {.kind = CacheKind(scope, ladder.LoadedByDefault().front(), given.slice),
                      .ladder = ladder,
                      .index_bytes_max = terms.index_bytes_max,
                      .prefetch_bytes_max = terms.prefetch_bytes_max}));
  *cache = new kvcast_cache{.key = terms.key,
                            .fingerprint = fingerprint,
                            .block_tokens = given.folder.description.block_tokens,
                            .slice = given.slice,
                            .pages = std::move(paged),
                            .ladder = ladder,
                            .lossy = std::move(lossy),
                            .node = std::move(connection),
                            .news = std::make_unique<CallNews>(std::move(news))};
  return KVCAST_OK;
}

Result<kvcast_code> Find(kvcast_cache& cache, const kvcast_prompt* prompt,
                         const kvcast_terms* terms, kvcast_report* report) {
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(const GivenPrompt given, GivenPrompt::Of(cache, prompt));
  const CacheMatch match = FindPrompt(cache, given, taken);
  kvcast_report said = ReportOf(cache, match.end_block(), match.bytes());
  said.tokens = std::max(said.tokens, given.SkippedTokens(taken));
  const bool all = match.end_block() == given.chain.blocks().size();
  said.status = all ? KVCAST_ITEM_PENDING : KVCAST_ITEM_ABSENT;
  KVCAST_TRY_VOID(Tell(said, all ? "" : "No more blocks are known of.", report));
  return KVCAST_OK;
}

Result<kvcast_code> Offers(kvcast_cache& cache, const kvcast_prompt* prompt,
                           const kvcast_terms* terms, kvcast_offer* offers, size_t offer_size,
                           size_t* count) {
  KVCAST_TRY_VOID(CheckPlaces(offers, offer_size, count));
  KVCAST_TRY(const CacheTerms taken, CacheTerms::Of(terms));
  KVCAST_TRY(const GivenPrompt given, GivenPrompt::Of(cache, prompt));
  TellOffers(cache.node->Places(given.chain.blocks(), given.Skipped(cache, taken),
                                LoadedRungs(cache, taken), taken.generation),
             offers, offer_size, count);
  return KVCAST_OK;
}

}  // namespace

Error NoCache() {
  return Error(ErrorCode::kInvalid, "There is no cache, or no place for a result.");
}

Result<CacheTerms> CacheTerms::Of(const kvcast_terms* terms) {
  constexpr size_t kFirstBytes = offsetof(kvcast_terms, durability) + sizeof(int32_t);
  kvcast_terms given{};
  if (terms != nullptr) {
    KVCAST_TRY(given, Given(terms, kFirstBytes));
  }
  CacheTerms taken{.deadline = DeadlineOf(given.timeout_us),
                   .compute_per_block = {},
                   .rung = {},
                   .best_rung = {},
                   .follow = {},
                   .expected_tokens = given.expected_tokens,
                   .generation = {},
                   .skip_tokens = given.skip_tokens,
                   .tag = given.tag,
                   .room_tokens = given.room_tokens == 0 ? UINT64_MAX : given.room_tokens,
                   .exact_tokens = given.exact_tokens};
  if (given.generation != nullptr) {
    std::memcpy(taken.generation.emplace().data(), given.generation, sizeof(Generation));
  }
  if (given.follow_us > 0 || given.begin_us > 0) {
    taken.follow.emplace().begin_within = After(given.begin_us) - Now();
    if (given.follow_us > 0) {
      taken.follow->next_within = After(given.follow_us) - Now();
    }
  }
  if (given.compute_block_us > 0) {
    taken.compute_per_block = After(given.compute_block_us) - Now();
  }
  KVCAST_TRY(taken.rung, RungNamed(given.rung));
  KVCAST_TRY(taken.best_rung, RungNamed(given.best_rung));
  if (taken.best_rung && (!taken.rung || IsTruer(*taken.rung, *taken.best_rung))) {
    return Error(ErrorCode::kInvalid,
                 "A best rung goes with a rung that is the least, and is no less true than that.");
  }
  if (given.durability < KVCAST_IN_MEMORY || given.durability > KVCAST_IN_BUCKET) {
    return Error(ErrorCode::kUnsupported, "There is no such durability.");
  }
  taken.durability = static_cast<Durability>(given.durability);
  return taken;
}

Result<GivenPrompt> GivenPrompt::Of(const kvcast_cache& cache, const kvcast_prompt* prompt) {
  constexpr size_t kFirstBytes = offsetof(kvcast_prompt, salt_bytes) + sizeof(size_t);
  KVCAST_TRY(const kvcast_prompt given, Given(prompt, kFirstBytes));
  KVCAST_TRY(const std::span<const std::byte> salt, BytesOf(given.salt, given.salt_bytes));
  if ((given.tokens == nullptr && given.token_count > 0) ||
      (given.pages == nullptr && given.page_count > 0)) {
    return Error(ErrorCode::kInvalid, "There are tokens or pages, and no address of them.");
  }
  KVCAST_TRY(BlockNamer namer, BlockNamer::Of(cache.key, cache.fingerprint, AsText(salt)));
  const std::span<const Token> tokens(given.tokens, given.token_count);
  KVCAST_TRY(const std::vector<ForeignInput> inputs, InputsOf(given));
  KVCAST_TRY(PrefixChain chain, PrefixChain::Of(namer, tokens, cache.block_tokens, inputs));
  KVCAST_TRY(BlockNamer common,
             BlockNamer::Of(NamingKey::Public(), cache.fingerprint, AsText(salt)));
  // Most are the public ones.
  KVCAST_TRY(PrefixChain in_common,
             common.root() == namer.root()
                 ? Result<PrefixChain>(chain)
                 : PrefixChain::Of(common, tokens, cache.block_tokens, inputs));
  return GivenPrompt{std::move(chain),
                     std::move(in_common),
                     given.token_count,
                     {given.pages, given.pages + given.page_count}};
}

kvcast_report ReportOf(const kvcast_cache& cache, size_t blocks, uint64_t bytes) {
  kvcast_report report{};
  report.blocks = blocks;
  report.tokens = blocks * cache.block_tokens;
  report.bytes = bytes;
  return report;
}

CacheMatch FindPrompt(const kvcast_cache& cache, const GivenPrompt& prompt,
                      const CacheTerms& terms) {
  return cache.node->Find(prompt.chain.blocks(), prompt.Skipped(cache, terms),
                          LoadedRungs(cache, terms), terms.generation);
}

}  // namespace kvcast

extern "C" {

kvcast_code kvcast_cache_open(const kvcast_node* node, const kvcast_model* model,
                              const kvcast_pages* pages, kvcast_cache** cache) {
  return kvcast::Guarded([&] { return kvcast::Open(node, model, pages, cache); });
}

void kvcast_cache_close(kvcast_cache* cache) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    delete cache;
    return KVCAST_OK;
  });
}

kvcast_code kvcast_draw_generation(void* generation) {
  return kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    if (generation == nullptr) {
      return kvcast::NoCache();
    }
    const kvcast::Generation drawn = kvcast::NodeConnection::DrawGeneration();
    std::memcpy(generation, drawn.data(), drawn.size());
    return KVCAST_OK;
  });
}

uint32_t kvcast_cache_block_tokens(const kvcast_cache* cache) {
  return cache == nullptr ? 0 : cache->block_tokens;
}

int kvcast_cache_connected(const kvcast_cache* cache) {
  return cache != nullptr && !cache->node->lost() ? 1 : 0;
}

kvcast_code kvcast_cache_find(kvcast_cache* cache, const kvcast_prompt* prompt,
                              const kvcast_terms* terms, kvcast_report* report) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::Find(it, prompt, terms, report); });
}

kvcast_code kvcast_cache_offers(kvcast_cache* cache, const kvcast_prompt* prompt,
                                const kvcast_terms* terms, kvcast_offer* offers, size_t offer_size,
                                size_t* count) {
  return kvcast::WithCache(cache, [&](kvcast_cache& it) {
    return kvcast::Offers(it, prompt, terms, offers, offer_size, count);
  });
}

kvcast_code kvcast_cache_news(kvcast_cache* cache, uint64_t* tag) {
  return kvcast::WithCache(cache, [&](kvcast_cache& it) -> kvcast::Result<kvcast_code> {
    if (tag == nullptr) {
      return kvcast::NoCache();
    }
    const std::optional<uint64_t> news = it.node->NextNews(*it.news);
    *tag = news.value_or(0);
    return news ? KVCAST_OK : KVCAST_PENDING;
  });
}

int kvcast_cache_fd(const kvcast_cache* cache) {
  return cache == nullptr ? -1 : cache->news->descriptor();
}

}  // extern "C"
