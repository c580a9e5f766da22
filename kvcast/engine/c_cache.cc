#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/engine/c_call.h"
#include "kvcast/engine/c_prompt.h"
#include "kvcast/engine/c_report.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/engine/model_ladder.h"
#include "kvcast/engine/node_connection.h"
#include "kvcast/io/clock.h"
#include "kvcast/kv/paged_cache.h"

// The cache's part of the C interface.
struct kvcast_cache {
  kvcast::NamingKey key;
  kvcast::Digest fingerprint;
  uint32_t block_tokens;
  kvcast::Slice slice;
  kvcast::PagedCache pages;  // Of the slice alone.
  kvcast::Ladder ladder;
  std::unique_ptr<kvcast::NodeConnection> node;
};

// One for each rung.
struct kvcast_publication {
  const kvcast_cache* cache;
  size_t blocks;
  std::vector<std::unique_ptr<kvcast::LivePublication>> live;
};

namespace kvcast {
namespace {

Error NoCache() {
  return Error(ErrorCode::kInvalid, "There is no cache, or no place for a result.");
}

struct Terms {
  Instant deadline;
  std::optional<Duration> compute_per_block;
  std::optional<Rung> rung;
  Durability durability = Durability::kMemory;
  std::optional<FollowTerms> follow;
  uint64_t expected_tokens = 0;
  std::optional<Generation> generation;
  uint64_t skip_tokens = 0;

  static Result<Terms> Of(const kvcast_terms* terms);
};

Result<Terms> Terms::Of(const kvcast_terms* terms) {
  constexpr size_t kFirstBytes = offsetof(kvcast_terms, durability) + sizeof(int32_t);
  kvcast_terms given{};
  if (terms != nullptr) {
    KVCAST_TRY(given, Given(terms, kFirstBytes));
  }
  Terms taken{.deadline = DeadlineOf(given.timeout_us),
              .compute_per_block = {},
              .rung = {},
              .follow = {},
              .expected_tokens = given.expected_tokens,
              .generation = {},
              .skip_tokens = given.skip_tokens};
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
  if (given.rung != nullptr) {
    taken.rung = RungOf(given.rung);
    if (!taken.rung) {
      return Error(ErrorCode::kUnsupported,
                   "There is no such rung: kvcast rungs lists those there are.");
    }
  }
  if (given.durability < KVCAST_IN_MEMORY || given.durability > KVCAST_IN_BUCKET) {
    return Error(ErrorCode::kUnsupported, "There is no such durability.");
  }
  taken.durability = static_cast<Durability>(given.durability);
  return taken;
}

struct Prompt {
  PrefixChain chain;
  uint64_t tokens;
  std::vector<uint32_t> pages;

  static Result<Prompt> Of(const kvcast_cache& cache, const kvcast_prompt* prompt);
  Result<PromptPages> Pages(const kvcast_cache& cache, size_t blocks) const {
    return PromptPages::OfSlice(cache.pages, pages, cache.block_tokens, blocks, cache.slice);
  }
  // Of whole blocks, those that the engine has.
  size_t Skipped(const kvcast_cache& cache, const Terms& terms) const {
    return static_cast<size_t>(
        std::min<uint64_t>(chain.blocks().size(), terms.skip_tokens / cache.block_tokens));
  }
  size_t BlocksWithPages(const kvcast_cache& cache) const {
    return std::min(chain.blocks().size(),
                    pages.size() * cache.pages.page_tokens() / cache.block_tokens);
  }
};

Result<Prompt> Prompt::Of(const kvcast_cache& cache, const kvcast_prompt* prompt) {
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
  return Prompt{std::move(chain), given.token_count, {given.pages, given.pages + given.page_count}};
}

kvcast_report ReportOf(const kvcast_cache& cache, size_t blocks, uint64_t bytes) {
  kvcast_report report{};
  report.blocks = blocks;
  report.tokens = blocks * cache.block_tokens;
  report.bytes = bytes;
  return report;
}

Result<kvcast_code> Open(const kvcast_node* node, const kvcast_model* model,
                         const kvcast_pages* pages, kvcast_cache** cache) {
  constexpr size_t kFirstBytes = offsetof(kvcast_model, block_tokens) + sizeof(uint32_t);
  if (cache == nullptr) {
    return NoCache();
  }
  *cache = nullptr;
  KVCAST_TRY(NodeTerms terms, NodeTerms::Of(node));
  KVCAST_TRY(const kvcast_model given, Given(model, kFirstBytes));
  if (given.folder == nullptr) {
    return Error(ErrorCode::kInvalid, "A model is in a folder.");
  }
  ModelOptions options;
  options.kv_dtype = TextOf(given.kv_dtype);
  if (given.adapter != nullptr) {
    options.adapter = given.adapter;
  }
  if (given.block_tokens != 0) {
    options.block_tokens = given.block_tokens;
  }
  KVCAST_TRY(const ModelFolder folder, ModelFolder::Load(given.folder, options));
  const Digest fingerprint = folder.description.Fingerprint();
  KVCAST_TRY(
      const ModelScope scope,
      ModelScope::Of(terms.tenant, given.name == nullptr ? folder.name : given.name, fingerprint));
  const uint32_t block_tokens = folder.description.block_tokens;
  KVCAST_TRY(const Slice slice, SliceOf(given));
  KVCAST_TRY(const BlockShape shape,
             BlockShape(folder.description.groups, block_tokens).Sliced(slice));
  KVCAST_TRY(PagedCache paged, PagesOf(pages, shape));
  const HalfType halves = pages->values == KVCAST_FP16 ? HalfType::kFp16 : HalfType::kBf16;
  KVCAST_TRY(const Ladder ladder, LadderOfModel(given.folder, TextOf(given.calibration), halves));
  KVCAST_TRY(
      std::unique_ptr<NodeConnection> connection,
      NodeConnection::Open(terms.addresses,
                           {.kind = CacheKind(scope, ladder.LoadedByDefault().front(), slice),
                            .ladder = ladder,
                            .index_bytes_max = terms.index_bytes_max},
                           terms.patience));
  *cache = new kvcast_cache{terms.key,        fingerprint, block_tokens,         slice,
                            std::move(paged), ladder,      std::move(connection)};
  return KVCAST_OK;
}

std::vector<Rung> LoadedRungs(const kvcast_cache& cache, const Terms& terms) {
  return terms.rung ? cache.ladder.LoadedDownTo(*terms.rung) : cache.ladder.LoadedByDefault();
}

CacheMatch FindPrompt(kvcast_cache& cache, const Prompt& prompt, const Terms& terms) {
  return cache.node->Find(prompt.chain.blocks(), prompt.Skipped(cache, terms),
                          LoadedRungs(cache, terms), terms.generation);
}

// Tokens that the engine has are there, though no whole block may end with the last of them.
kvcast_report WithSkipped(kvcast_report report, const Prompt& prompt, const Terms& terms) {
  report.tokens = std::max(report.tokens, std::min(terms.skip_tokens, prompt.tokens));
  return report;
}

Result<kvcast_code> Find(kvcast_cache& cache, const kvcast_prompt* prompt,
                         const kvcast_terms* terms, kvcast_report* report) {
  KVCAST_TRY(const Terms taken, Terms::Of(terms));
  KVCAST_TRY(const Prompt given, Prompt::Of(cache, prompt));
  const CacheMatch match = FindPrompt(cache, given, taken);
  const kvcast_report there = ReportOf(cache, match.end_block(), match.bytes());
  kvcast_report said = WithSkipped(there, given, taken);
  const bool all = match.end_block() == given.chain.blocks().size();
  said.status = all ? KVCAST_ITEM_PENDING : KVCAST_ITEM_ABSENT;
  KVCAST_TRY_VOID(Tell(said, all ? "" : "No more blocks are known of.", report));
  return KVCAST_OK;
}

// What a load came to, for whoever wants to know how much of it.
struct LoadedPrompt {
  kvcast_report said;
  std::string reason;
  LoadReport report;
  size_t skipped;
  size_t blocks;
};

Result<LoadedPrompt> LoadPrompt(kvcast_cache& cache, const kvcast_prompt* prompt,
                                const kvcast_terms* terms) {
  KVCAST_TRY(const Terms taken, Terms::Of(terms));
  KVCAST_TRY(const Prompt given, Prompt::Of(cache, prompt));
  CacheMatch match = FindPrompt(cache, given, taken);
  const size_t skipped = match.first_block();
  const size_t blocks = given.chain.blocks().size();
  const size_t wanted = taken.follow ? given.BlocksWithPages(cache) : match.end_block();
  KVCAST_TRY(PromptPages pages, given.Pages(cache, std::max(wanted, match.end_block())));
  NodeConnection::LoadCall call{.deadline = taken.deadline,
                                .compute_per_block = taken.compute_per_block,
                                .follow = taken.follow};
  if (call.follow && taken.expected_tokens > 0) {
    call.follow->expected = static_cast<size_t>(taken.expected_tokens / cache.block_tokens);
  }
  KVCAST_TRY(LoadReport report,
             cache.node->Load(std::move(match), given.chain.blocks(), std::move(pages), call));
  kvcast_report said =
      WithSkipped(ReportOf(cache, skipped + report.loaded(), report.bytes), given, taken);
  said.live = report.live;
  std::string reason = report.reason;
  if (!report.complete()) {
    said.status = StatusOf(report.outcomes[report.loaded()]);
  } else if (wanted < blocks) {
    said.status = KVCAST_ITEM_ABSENT;
    reason = "No more blocks are known of.";
  }
  return LoadedPrompt{said, std::move(reason), std::move(report), skipped, blocks};
}

Result<kvcast_code> Load(kvcast_cache& cache, const kvcast_prompt* prompt,
                         const kvcast_terms* terms, kvcast_report* report) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  KVCAST_TRY(const LoadedPrompt loaded, LoadPrompt(cache, prompt, terms));
  KVCAST_TRY_VOID(Tell(loaded.said, loaded.reason, report));
  return KVCAST_OK;
}

Result<kvcast_code> LoadBlocks(kvcast_cache& cache, const kvcast_prompt* prompt,
                               const kvcast_terms* terms, kvcast_report* report,
                               kvcast_block* blocks, size_t block_size, size_t* count) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  KVCAST_TRY_VOID(CheckPlaces(blocks, block_size, count));
  KVCAST_TRY(const LoadedPrompt loaded, LoadPrompt(cache, prompt, terms));
  KVCAST_TRY_VOID(Tell(loaded.said, loaded.reason, report));
  TellBlocks(loaded.report, loaded.skipped, loaded.blocks, blocks, block_size, count);
  return KVCAST_OK;
}

Result<kvcast_code> Offers(kvcast_cache& cache, const kvcast_prompt* prompt,
                           const kvcast_terms* terms, kvcast_offer* offers, size_t offer_size,
                           size_t* count) {
  KVCAST_TRY_VOID(CheckPlaces(offers, offer_size, count));
  KVCAST_TRY(const Terms taken, Terms::Of(terms));
  KVCAST_TRY(const Prompt given, Prompt::Of(cache, prompt));
  TellOffers(cache.node->Places(given.chain.blocks(), given.Skipped(cache, taken),
                                LoadedRungs(cache, taken), taken.generation),
             offers, offer_size, count);
  return KVCAST_OK;
}

std::vector<Rung> PublishedRungs(const kvcast_cache& cache, const Terms& terms) {
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

Result<kvcast_code> Publish(kvcast_cache& cache, const kvcast_prompt* prompt,
                            const kvcast_terms* terms, kvcast_report* report) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  KVCAST_TRY(const Terms taken, Terms::Of(terms));
  KVCAST_TRY(const Prompt given, Prompt::Of(cache, prompt));
  const size_t blocks = given.chain.blocks().size();
  const std::vector<Rung> rungs = PublishedRungs(cache, taken);
  kvcast_report said = ReportOf(cache, blocks, 0);
  std::string reason;
  for (const Rung rung : blocks == 0 ? std::vector<Rung>() : rungs) {
    KVCAST_TRY(PromptPages pages, given.Pages(cache, blocks));
    KVCAST_TRY(
        const PublishReport published,
        cache.node->Publish(given.chain.blocks(), std::move(pages),
                            {taken.deadline, {}, {}, taken.durability, rung, taken.generation}));
    said.held = rung == rungs.front() ? published.skipped : said.held;
    if (!Count(published, said, reason)) {
      break;
    }
  }
  KVCAST_TRY_VOID(Tell(said, reason, report));
  return KVCAST_OK;
}

Result<kvcast_code> Begin(kvcast_cache& cache, const kvcast_prompt* prompt,
                          const kvcast_terms* terms, kvcast_publication** publication) {
  if (publication == nullptr) {
    return NoCache();
  }
  *publication = nullptr;
  KVCAST_TRY(const Terms taken, Terms::Of(terms));
  KVCAST_TRY(const Prompt given, Prompt::Of(cache, prompt));
  auto begun = std::make_unique<kvcast_publication>();
  begun->cache = &cache;
  begun->blocks = given.chain.blocks().size();
  for (const Rung rung : PublishedRungs(cache, taken)) {
    KVCAST_TRY(PromptPages pages, given.Pages(cache, begun->blocks));
    KVCAST_TRY(begun->live.emplace_back(),
               cache.node->BeginPublish(
                   given.chain.blocks(), std::move(pages),
                   {.durability = taken.durability, .rung = rung, .generation = taken.generation}));
  }
  *publication = begun.release();
  return KVCAST_OK;
}

Result<kvcast_code> Finish(std::unique_ptr<kvcast_publication> publication, int64_t timeout_us,
                           kvcast_report* report) {
  KVCAST_TRY_VOID(Tell({}, "", report));
  const Instant deadline = DeadlineOf(timeout_us);
  kvcast_report said{};
  std::string reason;
  for (const std::unique_ptr<LivePublication>& live : publication->live) {
    const PublishReport published = live->Finish(deadline);
    if (live == publication->live.front()) {
      said = ReportOf(*publication->cache, published.blocks, 0);
      said.held = published.skipped;
    }
    if (!Count(published, said, reason)) {
      break;
    }
  }
  KVCAST_TRY_VOID(Tell(said, reason, report));
  return KVCAST_OK;
}

template <typename Call>
kvcast_code WithCache(kvcast_cache* cache, const Call& call) {
  return Guarded([&]() -> Result<kvcast_code> {
    return cache == nullptr ? Result<kvcast_code>(NoCache()) : call(*cache);
  });
}

}  // namespace
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

kvcast_code kvcast_cache_load(kvcast_cache* cache, const kvcast_prompt* prompt,
                              const kvcast_terms* terms, kvcast_report* report) {
  return kvcast::WithCache(
      cache, [&](kvcast_cache& it) { return kvcast::Load(it, prompt, terms, report); });
}

kvcast_code kvcast_cache_load_blocks(kvcast_cache* cache, const kvcast_prompt* prompt,
                                     const kvcast_terms* terms, kvcast_report* report,
                                     kvcast_block* blocks, size_t block_size, size_t* count) {
  return kvcast::WithCache(cache, [&](kvcast_cache& it) {
    return kvcast::LoadBlocks(it, prompt, terms, report, blocks, block_size, count);
  });
}

kvcast_code kvcast_cache_offers(kvcast_cache* cache, const kvcast_prompt* prompt,
                                const kvcast_terms* terms, kvcast_offer* offers, size_t offer_size,
                                size_t* count) {
  return kvcast::WithCache(cache, [&](kvcast_cache& it) {
    return kvcast::Offers(it, prompt, terms, offers, offer_size, count);
  });
}

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
    const uint64_t blocks = tokens / publication->cache->block_tokens;
    for (const auto& live : publication->live) {
      live->Ready(static_cast<size_t>(std::min<uint64_t>(blocks, publication->blocks)));
    }
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

void kvcast_publication_abandon(kvcast_publication* publication) {
  (void)kvcast::Guarded([&]() -> kvcast::Result<kvcast_code> {
    delete publication;
    return KVCAST_OK;
  });
}

}  // extern "C"
