#include "examples/tinylm/shared_cache.h"

#include <algorithm>
#include <utility>

namespace kvcast::tinylm {
namespace {

Error ErrorOf(const kvcast::Failure& failure) {
  return {failure.code == KVCAST_INVALID || failure.code == KVCAST_UNSUPPORTED
              ? ErrorCode::kInvalid
              : ErrorCode::kMachine,
          failure.message};
}

// The model, under the name by which engines find each other's blocks.
kvcast::Cache::Model ModelIn(const std::string& folder) {
  return {.folder = folder, .name = "tinylm"};
}

kvcast::Cache::Pages PagesOf(KvCache& cache) {
  kvcast::Cache::Pages pages{
      .layers = {}, .page_tokens = cache.page_tokens(), .page_count = cache.page_count()};
  for (size_t layer = 0; layer < cache.layers(); ++layer) {
    pages.layers.push_back({cache.At(layer, Plane::kKey, 0, 0, 0), cache.plane_bytes(),
                            cache.At(layer, Plane::kValue, 0, 0, 0), cache.plane_bytes()});
  }
  return pages;
}

kvcast::Cache::Prompt PromptOf(std::span<const Token> tokens, const Sequence& sequence) {
  return {.tokens = {tokens.begin(), tokens.end()}, .pages = sequence.pages};
}

kvcast::Microseconds Microseconds(Duration duration) {
  return std::chrono::duration_cast<kvcast::Microseconds>(duration);
}

}  // namespace

Result<SharedCache> SharedCache::Open(const kvcast::Node& node, const std::string& folder,
                                      KvCache& cache, std::vector<std::string> rungs) {
  auto opened = kvcast::Cache::Open(node, ModelIn(folder), PagesOf(cache));
  if (!opened) {
    return ErrorOf(opened.failure());
  }
  SharedCache shared(std::move(*opened), cache);
  shared.published_ =
      rungs.empty() ? std::vector<std::string>{"BF16-lossless", "KTC-medium"} : rungs;
  shared.loaded_ = std::move(rungs);
  // Whether there are such rungs.
  const auto known = shared.cache_.Find({}, shared.Terms({}));
  return known ? Result<SharedCache>(std::move(shared)) : ErrorOf(known.failure());
}

kvcast::CacheTerms SharedCache::Terms(Duration patience) const {
  kvcast::CacheTerms terms;
  terms.timeout = std::max(Microseconds(patience), kvcast::Microseconds(1));
  if (!loaded_.empty()) {
    terms.rung = loaded_.back();
    terms.best_rung = loaded_.front();
  }
  return terms;
}

SharedCache::Loaded SharedCache::Load(std::span<const Token> prompt, Sequence& sequence,
                                      Duration patience,
                                      const std::optional<Following>& following) {
  const Instant begun = Now();
  Loaded loaded;
  kvcast::CacheTerms terms = Terms(patience);
  size_t tokens = prompt.size() / block_tokens() * block_tokens();
  if (following) {
    terms.begin = Microseconds(following->begin_within);
    terms.follow = Microseconds(following->next_within);
  } else if (const auto found = cache_.Find(PromptOf(prompt, sequence), terms)) {
    tokens = found->tokens;
  }
  if (tokens == 0 || !memory_->Reserve(sequence, static_cast<uint32_t>(tokens)).ok()) {
    return loaded;
  }
  const auto report = cache_.Load(PromptOf(prompt, sequence), terms);
  loaded.took = Now() - begun;
  if (!report) {
    loaded.reason = report.failure().message;
    return loaded;
  }
  loaded.tokens = static_cast<uint32_t>(report->tokens);
  loaded.bytes = report->bytes;
  loaded.blocks_live = report->live;
  loaded.reason = loaded.tokens < tokens ? report->reason : "";
  for (const kvcast::CacheBlock& block : report->each) {
    if (!block.rung.empty() && std::ranges::find(loaded.rungs, block.rung) == loaded.rungs.end()) {
      loaded.rungs.push_back(block.rung);
    }
  }
  sequence.tokens = loaded.tokens;  // What was not loaded is computed into the same pages.
  return loaded;
}

kvcast::CacheReport SharedCache::Publish(const std::string& rung, std::span<const Token> prompt,
                                         const Sequence& sequence, Duration patience) {
  kvcast::CacheTerms terms;
  terms.timeout = Microseconds(patience);
  terms.rung = rung;
  auto report = cache_.Publish(PromptOf(prompt, sequence), terms);
  if (!report) {
    kvcast::CacheReport failed;
    failed.status = kvcast::Status::kInvalid;
    failed.reason = report.failure().message;
    return failed;
  }
  return std::move(*report);
}

Result<kvcast::CachePublication> SharedCache::BeginPublish(const std::string& rung,
                                                           std::span<const Token> prompt,
                                                           const Sequence& sequence) {
  kvcast::CacheTerms terms;
  terms.rung = rung;
  auto begun = cache_.Begin(PromptOf(prompt, sequence), terms);
  return begun ? Result<kvcast::CachePublication>(std::move(*begun)) : ErrorOf(begun.failure());
}

Result<void> SaveCache(const std::string& path, const std::string& folder, KvCache& cache,
                       const Sequence& sequence, std::span<const Token> prompt) {
  const auto failure = kvcast::Cache::Save(path, ModelIn(folder), PagesOf(cache),
                                           PromptOf(prompt.first(sequence.tokens), sequence));
  return failure ? Result<void>(ErrorOf(*failure)) : Result<void>();
}

Result<void> RestoreCache(const std::string& path, const std::string& folder, KvCache& cache,
                          Sequence& sequence, std::span<const Token> prompt) {
  TINYLM_TRY_VOID(cache.Reserve(sequence, static_cast<uint32_t>(prompt.size())));
  const auto tokens =
      kvcast::Cache::Restore(path, ModelIn(folder), PagesOf(cache), PromptOf(prompt, sequence));
  if (!tokens) {
    return ErrorOf(tokens.failure());
  }
  sequence.tokens = static_cast<uint32_t>(*tokens);
  return {};
}

}  // namespace kvcast::tinylm
