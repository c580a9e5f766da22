#include "examples/tinylm/shared_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "examples/tinylm/inference/generation.h"
#include "examples/tinylm/inference/model_test.h"
#include "examples/tinylm/node_test.h"
#include "kvcast/base/random.h"
#include "kvcast/base/sanitized_test.h"

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kBlockTokens = 128;
constexpr uint32_t kContinuation = 12;
constexpr Duration kPatience = std::chrono::seconds(120);  // Only so as not to hang.

// An engine with a cache of its own, connected to a node or to none.
class Engine {
 public:
  explicit Engine(const NodeForTest* node) {
    if (node != nullptr) {
      shared_.emplace(*SharedCache::Open({.address = node->address()}, kModelFolder, cache_));
    }
  }

  // How a prompt goes on.
  std::vector<Token> Continue(const std::vector<Token>& prompt) {
    Sequence sequence;
    if (shared_) {
      loaded_ = shared_->Load(prompt, sequence, kPatience).tokens;
    }
    Generation generation = *Generation::Start(forward_, cache_, sequence, prompt);
    if (shared_) {
      for (const std::string& rung : shared_->published()) {
        const CacheReport report = shared_->Publish(rung, prompt, sequence, kPatience);
        EXPECT_EQ(report.status, Status::kPending) << report.reason;
        EXPECT_EQ(report.blocks, prompt.size() / kBlockTokens) << report.reason;
      }
    }
    std::vector<Token> continuation;
    while (continuation.size() < kContinuation) {
      continuation.push_back(*generation.Next());
    }
    cache_.Release(sequence);
    return continuation;
  }
  uint32_t loaded() const { return loaded_; }

 private:
  KvCache cache_ = *KvCache::Of(ModelWeights().config, 16, 64);
  std::optional<SharedCache> shared_;
  Forward forward_{ModelWeights()};
  uint32_t loaded_ = 0;
};

// Any tokens, a few blocks of them, now and then begun like one before.
std::vector<Token> RandomPrompt(Random& random, const std::vector<std::vector<Token>>& before) {
  std::vector<Token> prompt;
  if (!before.empty() && random.Happens(0.5)) {
    const std::vector<Token>& other = before[random.Below(before.size())];
    prompt.assign(other.begin(),
                  other.begin() + static_cast<std::ptrdiff_t>(random.Below(other.size())));
  }
  const size_t tokens = kBlockTokens + random.Below(2 * kBlockTokens + 1);
  while (prompt.size() < tokens) {
    prompt.push_back(static_cast<Token>(random.Below(ModelWeights().config.vocabulary)));
  }
  return prompt;
}

// The promise of the whole program: what another engine computed is as good as one's own, down to
// the last bit that a continuation depends on.
TEST(SharedCache, ContinuesPromptsAlikeLoadedOrComputed) {
  constexpr uint64_t kSeed = 20;
  // Sanitizers look at every load of the arithmetic, and need no fifty prompts for that.
  constexpr int kPrompts = kSanitized ? 10 : 50;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  NodeForTest node;
  Engine alone(nullptr);
  std::vector<std::vector<Token>> prompts;
  size_t loaded_by_first = 0;
  for (int i = 0; i < kPrompts; ++i) {
    const std::vector<Token> prompt = RandomPrompt(random, prompts);
    prompts.push_back(prompt);
    const std::vector<Token> computed = alone.Continue(prompt);
    // Each knows what the node holds when it connects, so these are new.
    Engine first(&node);
    EXPECT_EQ(first.Continue(prompt), computed) << i;
    loaded_by_first += first.loaded();
    Engine second(&node);
    EXPECT_EQ(second.Continue(prompt), computed) << i;
    EXPECT_EQ(second.loaded(), prompt.size() / kBlockTokens * kBlockTokens) << i;
  }
  EXPECT_GT(loaded_by_first, 0u);  // Of prompts that began like others.
}

TEST(SharedCache, ComputesWhenTheNodeIsGone) {
  Random random(1);
  const std::vector<Token> prompt = RandomPrompt(random, {});
  NodeForTest node;
  Engine(&node).Continue(prompt);  // So that there is something to load.
  KvCache cache = *KvCache::Of(ModelWeights().config, 16, 64);
  SharedCache shared = *SharedCache::Open({.address = node.address()}, kModelFolder, cache);
  node.Stop();
  Sequence sequence;
  EXPECT_EQ(shared.Load(prompt, sequence, std::chrono::milliseconds(500)).tokens, 0u);
}

TEST(SharedCache, RefusesAnAddressAndARungThatAreNone) {
  KvCache cache = *KvCache::Of(ModelWeights().config, 16, 64);
  const NodeForTest node;
  const auto code = [&](const std::string& address, std::vector<std::string> rungs) {
    const auto opened = SharedCache::Open({.address = address}, kModelFolder, cache, rungs);
    return opened.ok() ? ErrorCode::kMachine : opened.error().code();
  };
  EXPECT_EQ(code("nonsense", {}), ErrorCode::kInvalid);
  EXPECT_EQ(code(node.address(), {"BF17"}), ErrorCode::kInvalid);
  EXPECT_EQ(code(node.address(), {"KTC-medium", "BF16"}),
            ErrorCode::kInvalid);  // Not the truest first.
}

// Who loads what a small rung left of a prompt computes the rest on top of that, and neither is
// what others may take for the very values.
TEST(SharedCache, PublishesNothingTruerThanWhatItLoaded) {
  Random random(4);
  std::vector<Token> prompt = RandomPrompt(random, {});
  prompt.resize(kBlockTokens, 1);
  const NodeForTest node;
  Forward forward(ModelWeights());
  const auto engine = [&](KvCache& cache, std::vector<std::string> rungs) {
    return *SharedCache::Open({.address = node.address()}, kModelFolder, cache, std::move(rungs));
  };
  KvCache first = *KvCache::Of(ModelWeights().config, 16, 64);
  Sequence computed;
  ASSERT_TRUE(forward.Append(prompt, first, computed).ok());
  ASSERT_EQ(engine(first, {"KTC-coarse"}).Publish("KTC-coarse", prompt, computed, kPatience).blocks,
            1u);

  KvCache second = *KvCache::Of(ModelWeights().config, 16, 64);
  SharedCache shared = engine(second, {"BF16-lossless", "KTC-coarse"});
  Sequence sequence;
  ASSERT_EQ(shared.Load(prompt, sequence, kPatience).tokens, kBlockTokens);
  const std::vector<Token> more(kBlockTokens, 2);
  ASSERT_TRUE(forward.Append(more, second, sequence).ok());
  prompt.insert(prompt.end(), more.begin(), more.end());
  const CacheReport exact = shared.Publish("BF16-lossless", prompt, sequence, kPatience);
  EXPECT_EQ(exact.blocks, 0u);
  EXPECT_EQ(exact.status, Status::kLossy) << exact.reason;
  const CacheReport coarse = shared.Publish("KTC-coarse", prompt, sequence, kPatience);
  EXPECT_EQ(coarse.blocks, 2u) << coarse.reason;
  EXPECT_EQ(coarse.held, 1u);

  KvCache third = *KvCache::Of(ModelWeights().config, 16, 64);
  Sequence none;
  EXPECT_EQ(engine(third, {}).Load(prompt, none, kPatience).tokens, 0u);
}

// A prompt's KV in a file is as good as that in a node, for a prompt that shares a part of it too.
TEST(SavedCache, ContinuesPromptsAlikeRestoredOrComputed) {
  Random random(3);
  const std::vector<Token> prompt = RandomPrompt(random, {});
  std::vector<Token> other(prompt.begin(), prompt.begin() + 40);
  other.push_back(prompt[40] + 1 == ModelWeights().config.vocabulary ? 0 : prompt[40] + 1);
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     ("saved_cache_" + std::to_string(getpid()) + ".safetensors");
  KvCache cache = *KvCache::Of(ModelWeights().config, 16, 64);
  Sequence sequence;
  Forward forward(ModelWeights());
  ASSERT_TRUE(forward.Append(prompt, cache, sequence).ok());
  ASSERT_TRUE(SaveCache(path.string(), kModelFolder, cache, sequence, prompt).ok());
  Engine alone(nullptr);
  for (const auto& [wanted, shared] : {std::pair(prompt, prompt.size()), {other, size_t{40}}}) {
    KvCache pages = *KvCache::Of(ModelWeights().config, 16, 64);
    Sequence restored;
    ASSERT_TRUE(RestoreCache(path.string(), kModelFolder, pages, restored, wanted).ok());
    EXPECT_EQ(restored.tokens, shared);
    Generation generation = *Generation::Start(forward, pages, restored, wanted);
    std::vector<Token> continuation;
    while (continuation.size() < kContinuation) {
      continuation.push_back(*generation.Next());
    }
    EXPECT_EQ(continuation, alone.Continue(wanted));
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kvcast::tinylm
