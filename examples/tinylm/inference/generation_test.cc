#include "examples/tinylm/inference/generation.h"

#include <gtest/gtest.h>

#include "examples/tinylm/inference/cache_file.h"
#include "examples/tinylm/inference/model_test.h"
#include "kvcast/base/random.h"
#include "kvcast/io/scratch_directory.h"

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
  const BlockView source = *BlockView::Of(from.cache.pages(), from.sequence.pages, 0, tokens);
  BlockView target = *BlockView::Of(to.cache.pages(), to.sequence.pages, 0, tokens);
  for (uint32_t token = 0; token < tokens; ++token) {
    for (size_t layer = 0; layer < source.shape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < source.shape().layers()[layer].kv_heads; ++head) {
          std::ranges::copy(source.Row(token, layer, plane, head),
                            target.MutableRow(token, layer, plane, head).begin());
        }
      }
    }
  }
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

class CacheFileTest : public testing::Test {
 protected:
  CacheFileTest() : scratch_(*ScratchDirectory::Make()) {
    Random random(1);
    prompt_ = RandomTokens(random, 150);
    EXPECT_TRUE(writer_.forward.Append(prompt_, writer_.cache, writer_.sequence).ok());
    EXPECT_TRUE(CacheFile::Write(path(), kModel, writer_.cache, writer_.sequence, prompt_).ok());
  }
  std::filesystem::path path() const { return scratch_ / "cache.safetensors"; }

  const Digest kModel = Sha256::Of("model");
  ScratchDirectory scratch_;
  std::vector<Token> prompt_;
  Engine writer_;
};

TEST_F(CacheFileTest, GivesBackWhatWasWritten) {
  const CacheFile file = *CacheFile::Open(path(), kModel);
  EXPECT_EQ(file.SharedTokens(prompt_), 150u);
  Engine reader(7);
  ASSERT_TRUE(file.Load(150, reader.cache, reader.sequence).ok());
  EXPECT_TRUE(KvOf(reader.cache, reader.sequence) == KvOf(writer_.cache, writer_.sequence));
  Engine alone;
  EXPECT_EQ(reader.Continue(prompt_, 5), alone.Continue(prompt_, 5));
}

TEST_F(CacheFileTest, KnowsWhatItSharesWithAnotherPrompt) {
  const CacheFile file = *CacheFile::Open(path(), kModel);
  std::vector<Token> other(prompt_.begin(), prompt_.begin() + 40);
  EXPECT_EQ(file.SharedTokens(other), 40u);
  other.push_back(prompt_[40] + 1);
  EXPECT_EQ(file.SharedTokens(other), 40u);
  EXPECT_EQ(file.SharedTokens({}), 0u);
  Engine reader;
  ASSERT_TRUE(file.Load(40, reader.cache, reader.sequence).ok());
  Engine alone;
  EXPECT_EQ(reader.Continue(other, 5), alone.Continue(other, 5));
}

TEST_F(CacheFileTest, IsOfOneModelOnly) {
  const Result<CacheFile> opened = CacheFile::Open(path(), Sha256::Of("another model"));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kMismatch);
  Config config = ModelWeights().config;
  config.layers = 5;
  KvCache cache = *KvCache::Of(config, 16, 10);
  Sequence sequence;
  const CacheFile file = *CacheFile::Open(path(), kModel);
  EXPECT_EQ(file.Load(10, cache, sequence).error().code(), ErrorCode::kMismatch);
}

TEST_F(CacheFileTest, MustSayWhichPromptItIsOf) {
  const KvMetadata metadata = {{"kvcast.model_fp", kModel.ToHex()}, {"tinylm.prompt", "1 2"}};
  const KvFilePlan plan =
      *KvFilePlan::Of(writer_.cache.pages().layers(), ValueType::kBf16, 1, metadata);
  const std::string bytes =
      plan.header().ToString() + std::string(plan.file_bytes() - plan.header().size(), '\0');
  ASSERT_TRUE(WriteFileAtomically(path(), AsBytes(bytes)).ok());
  EXPECT_EQ(CacheFile::Open(path(), kModel).error().code(), ErrorCode::kMismatch);
}

}  // namespace
}  // namespace kvcast::tinylm
