#include "examples/tinylm/shared_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "examples/tinylm/inference/generation.h"
#include "examples/tinylm/inference/model_test.h"
#include "kvcast/base/random.h"
#include "kvcast/base/sanitized_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/io/clock.h"

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kBlockTokens = kBlockTokensDefault;
constexpr uint32_t kContinuation = 12;
constexpr Duration kPatience = std::chrono::seconds(120);  // Only so as not to hang.

// An engine with a cache of its own, connected to a node or to none.
class Engine {
 public:
  explicit Engine(const LocalNode* node) {
    if (node != nullptr) {
      shared_.emplace(*SharedCache::Open(node->address(), kModelFolder));
    }
  }

  // How a prompt goes on.
  std::vector<Token> Continue(const std::vector<Token>& prompt) {
    KvCache cache = *KvCache::Of(ModelWeights().config, 16, 64);
    Sequence sequence;
    if (shared_) {
      loaded_ = shared_->Load(prompt, cache, sequence, Now() + kPatience).tokens;
    }
    Generation generation = *Generation::Start(forward_, cache, sequence, prompt);
    if (shared_) {
      for (const Rung rung : shared_->published()) {
        const PublishReport report =
            shared_->Publish(rung, prompt, cache, sequence, Now() + kPatience);
        EXPECT_FALSE(report.fault.has_value()) << report.reason;
      }
    }
    std::vector<Token> continuation;
    while (continuation.size() < kContinuation) {
      continuation.push_back(*generation.Next());
    }
    return continuation;
  }
  uint32_t loaded() const { return loaded_; }

 private:
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
  LocalNode node;
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
  LocalNode node;
  Engine(&node).Continue(prompt);  // So that there is something to load.
  SharedCache shared = *SharedCache::Open(node.address(), kModelFolder);
  node.Stop();
  KvCache cache = *KvCache::Of(ModelWeights().config, 16, 64);
  Sequence sequence;
  const Instant soon = Now() + std::chrono::milliseconds(500);
  EXPECT_EQ(shared.Load(prompt, cache, sequence, soon).tokens, 0u);
}

}  // namespace
}  // namespace kvcast::tinylm
