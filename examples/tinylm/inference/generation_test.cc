#include "examples/tinylm/inference/generation.h"

#include <gtest/gtest.h>

#include "examples/tinylm/inference/model_test.h"
#include "kvcast/base/random.h"

namespace kvcast::tinylm {
namespace {

std::vector<Token> RandomTokens(Random& random, size_t count) {
  std::vector<Token> tokens(count);
  for (Token& token : tokens) {
    token = static_cast<Token>(random.Below(ModelWeights().config.vocabulary));
  }
  return tokens;
}

// An engine of its own: what it computes, it computes alone.
struct Engine {
  explicit Engine(uint32_t page_tokens = 16)
      : cache(*KvCache::Of(ModelWeights().config, page_tokens, 256 / page_tokens + 1)),
        forward(ModelWeights()) {}

  std::vector<Token> Continue(const std::vector<Token>& prompt, size_t count) {
    Generation generation = *Generation::Start(forward, cache, sequence, prompt);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(generation.Next().ok());
    }
    return {generation.tokens().begin(), generation.tokens().end()};
  }

  KvCache cache;
  Forward forward;
  Sequence sequence;
};

// What kvcast does between two engines, without the way between them.
void CopyKv(const Engine& from, uint32_t tokens, Engine& to) {
  if (tokens == 0) {
    return;
  }
  ASSERT_TRUE(to.cache.Reserve(to.sequence, tokens).ok());
  std::vector<std::byte> values;
  ForEachRow(from.cache, from.sequence, tokens, [&](std::span<const std::byte> row) {
    values.insert(values.end(), row.begin(), row.end());
  });
  auto next = values.begin();
  ForEachRow(to.cache, to.sequence, tokens, [&](std::span<std::byte> row) {
    std::copy_n(next, row.size(), row.begin());
    next += static_cast<std::ptrdiff_t>(row.size());
  });
  to.sequence.tokens = tokens;
}

// The promise that all of kvcast rests on, for this engine: a prefix that another engine computed,
// for another prompt, continues as one's own does.
TEST(Generation, ContinuesALoadedPrefixLikeItsOwn) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::vector<Token> prompt = RandomTokens(random, 1 + random.Below(160));
    const auto shared = static_cast<uint32_t>(random.Below(prompt.size() + 1));
    std::vector<Token> other(prompt.begin(), prompt.begin() + shared);
    const std::vector<Token> tail = RandomTokens(random, 1 + random.Below(40));
    other.insert(other.end(), tail.begin(), tail.end());

    Engine alone;
    const std::vector<Token> expected = alone.Continue(prompt, 10);
    Engine publisher(7);
    ASSERT_TRUE(publisher.forward.Append(other, publisher.cache, publisher.sequence).ok());
    Engine loader(32);
    CopyKv(publisher, shared, loader);
    EXPECT_EQ(loader.Continue(prompt, 10), expected);
    EXPECT_TRUE(KvOf(loader.cache, loader.sequence) == KvOf(alone.cache, alone.sequence));
  }
}

TEST(Generation, TakesOnlyAPrefixOfThePrompt) {
  Engine engine;
  const std::vector<Token> prompt = {0, 5, 6};
  EXPECT_EQ(Generation::Start(engine.forward, engine.cache, engine.sequence, {}).error().code(),
            ErrorCode::kInvalid);
  engine.Continue(prompt, 2);  // The sequence now holds a token more than the prompt.
  EXPECT_EQ(Generation::Start(engine.forward, engine.cache, engine.sequence, prompt).error().code(),
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvcast::tinylm
