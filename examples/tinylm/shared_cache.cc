#include "examples/tinylm/shared_cache.h"

#include <utility>

#include "kvcast/engine/model_ladder.h"
#include "kvcast/io/clock.h"

namespace kvcast::tinylm {
namespace {

constexpr Duration kConnectPatience = std::chrono::seconds(10);

}  // namespace

Result<SharedCache> SharedCache::Open(const NodeAddress& node, const std::string& folder,
                                      std::vector<Rung> rungs) {
  KVCAST_TRY(const ModelFolder model, ModelFolder::Load(folder, {}));
  const Digest fingerprint = model.description.Fingerprint();
  KVCAST_TRY(BlockNamer namer, BlockNamer::Of(NamingKey::Public(), fingerprint));
  KVCAST_TRY(const ModelScope scope, ModelScope::Of(Tenant::Public(), kModelName, fingerprint));
  KVCAST_TRY(const Ladder ladder, LadderOfModel(folder, {}, HalfType::kBf16));
  SharedCache shared(std::move(namer), model.description.block_tokens);
  shared.published_ = rungs.empty() ? ladder.PublishedByDefault() : rungs;
  shared.loaded_ = rungs.empty() ? ladder.LoadedByDefault() : std::move(rungs);
  KVCAST_TRY(shared.node_, NodeConnection::Open(node, CacheKind(scope, shared.loaded_.front()),
                                                kConnectPatience, ladder));
  return shared;
}

SharedCache::Loaded SharedCache::Load(std::span<const Token> prompt, KvCache& cache,
                                      Sequence& sequence, Instant deadline,
                                      const std::optional<FollowTerms>& follow) {
  const Instant begun = Now();
  Loaded loaded;
  const PrefixChain chain = *PrefixChain::Of(namer_, prompt, block_tokens_);
  const CacheMatch match = node_->Find(chain.blocks(), 0, loaded_);
  loaded.blocks_found = match.block_count();
  const size_t blocks = follow ? chain.blocks().size() : match.block_count();
  const size_t tokens = blocks * block_tokens_;
  if (blocks == 0 || !cache.Reserve(sequence, static_cast<uint32_t>(tokens)).ok()) {
    return loaded;
  }
  const Result<PromptPages> pages =
      PromptPages::Of(cache.pages(), sequence.pages, block_tokens_, blocks);
  if (!pages.ok()) {
    loaded.reason = pages.error().message();
    return loaded;
  }
  const Result<LoadReport> report =
      node_->Load(match, chain.blocks(), *pages, {.deadline = deadline, .follow = follow});
  if (report.ok()) {
    loaded.tokens = static_cast<uint32_t>(report->loaded() * block_tokens_);
    loaded.bytes = report->bytes;
    loaded.rungs = report->rungs();
    loaded.blocks_live = report->live;
  }
  loaded.reason = report.ok() ? report->reason : report.error().message();
  loaded.took = Now() - begun;
  sequence.tokens = loaded.tokens;  // What was not loaded is computed into the same pages.
  return loaded;
}

Result<std::unique_ptr<LivePublication>> SharedCache::BeginPublish(Rung rung,
                                                                   std::span<const Token> prompt,
                                                                   const KvCache& cache,
                                                                   const Sequence& sequence) {
  const PrefixChain chain = *PrefixChain::Of(namer_, prompt, block_tokens_);
  KVCAST_TRY(const PromptPages pages,
             PromptPages::Of(cache.pages(), sequence.pages, block_tokens_, chain.blocks().size()));
  return node_->BeginPublish(chain.blocks(), pages, {.rung = rung});
}

PublishReport SharedCache::Publish(Rung rung, std::span<const Token> prompt, const KvCache& cache,
                                   const Sequence& sequence, Instant deadline) {
  const PrefixChain chain = *PrefixChain::Of(namer_, prompt, block_tokens_);
  Result<PublishReport> report = [&]() -> Result<PublishReport> {
    KVCAST_TRY(const PromptPages pages, PromptPages::Of(cache.pages(), sequence.pages,
                                                        block_tokens_, chain.blocks().size()));
    return node_->Publish(chain.blocks(), pages, {.deadline = deadline, .rung = rung});
  }();
  if (!report.ok()) {
    PublishReport failed;
    failed.fault = PublishFault::kRefused;
    failed.reason = report.error().message();
    return failed;
  }
  return *std::move(report);
}

}  // namespace kvcast::tinylm
