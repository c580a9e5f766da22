#include "examples/tinylm/inference/forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/json.h"
#include "examples/tinylm/base/token_list.h"
#include "examples/tinylm/inference/model_test.h"
#include "kvcast/base/source_folder_test.h"

namespace kvcast::tinylm {
namespace {

const std::string kFolder = std::string(kSourceFolder) + "/examples/tinylm/";

KvCache CacheFor(uint32_t tokens, uint32_t page_tokens = 16) {
  return *KvCache::Of(ModelWeights().config, page_tokens, (tokens - 1) / page_tokens + 1);
}

std::vector<Token> LongPrompt() {
  return *ParseTokenList(*ReadFile(kFolder + "prompts/shared-prefix-a.tokens", 1 << 20));
}

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

// The same model, written again in torch, recorded the cases. Logits agree to 0.007, as well as two
// ways to write the model in torch do: sums that are added up in another order now and then round
// to another BF16 value in the cache.
TEST(Forward, AgreesWithTheRecordedLogits) {
  constexpr float kTolerance = 0.01F;
  const Json cases = *ParseJson(*ReadFile(kFolder + "inference/forward_cases.json", 1 << 20));
  ASSERT_EQ(cases.size(), 3u);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const std::vector<Token> ids =
        one.contains("file")
            ? *ParseTokenList(*ReadFile(kFolder + one["file"].get<std::string>(), 1 << 20))
            : one["ids"].get<std::vector<Token>>();
    KvCache cache = CacheFor(static_cast<uint32_t>(ids.size()));
    Forward forward(ModelWeights());
    Sequence sequence;
    for (const Json& row : one["rows"]) {
      const size_t end = row["position"].get<size_t>() + 1;
      const auto next = std::span(ids).first(end).subspan(sequence.tokens);
      ASSERT_TRUE(forward.Append(next, cache, sequence).ok());
      const std::span<const float> logits = forward.Logits();
      float worst = 0;
      for (const Json& logit : row["logits"]) {
        worst = std::max(worst, std::abs(logits[logit[0].get<size_t>()] - logit[1].get<float>()));
      }
      EXPECT_LT(worst, kTolerance) << "position " << end - 1;
      const auto top = std::ranges::max_element(logits) - logits.begin();
      EXPECT_EQ(top, row["logits"][0][0].get<int64_t>()) << "position " << end - 1;
    }
  }
}

// Computed once: all tokens of a prompt in one batch.
struct Whole {
  std::string kv;
  std::vector<float> logits;
};
Whole ComputedAtOnce(std::span<const Token> prompt, const Kernels& kernels = BestKernels()) {
  KvCache cache = CacheFor(static_cast<uint32_t>(prompt.size()));
  Forward forward(ModelWeights(), kernels);
  Sequence sequence;
  EXPECT_TRUE(forward.Append(prompt, cache, sequence).ok());
  return {KvOf(cache, sequence), Copy(forward.Logits())};
}

// Decode and prefill are the same computation: otherwise text would depend on where the cache of
// its prompt came from.
TEST(Forward, ComputesTheSameBitsInBatchesOfAnySize) {
  const std::vector<Token> all = LongPrompt();
  const auto prompt = std::span(all).first(300);
  const Whole whole = ComputedAtOnce(prompt);
  for (const size_t batch : {1u, 7u, 64u, 192u, 299u}) {
    KvCache cache = CacheFor(300);
    Forward forward(ModelWeights());
    Sequence sequence;
    while (sequence.tokens < prompt.size()) {
      const auto rest = prompt.subspan(sequence.tokens);
      ASSERT_TRUE(forward.Append(rest.first(std::min(batch, rest.size())), cache, sequence).ok());
    }
    EXPECT_TRUE(KvOf(cache, sequence) == whole.kv) << "batches of " << batch;
    EXPECT_TRUE(Copy(forward.Logits()) == whole.logits) << "batches of " << batch;
  }
}

TEST(Forward, ComputesTheSameBitsInPagesOfAnySizeAndOrder) {
  const std::vector<Token> all = LongPrompt();
  const auto prompt = std::span(all).first(150);
  const Whole whole = ComputedAtOnce(prompt);
  for (const uint32_t page_tokens : {1u, 7u, 128u, 1000u}) {
    KvCache cache = CacheFor(300, page_tokens);
    Sequence others;  // Takes some pages away and gives them back in another order.
    ASSERT_TRUE(cache.Reserve(others, 150).ok());
    std::ranges::reverse(others.pages);
    cache.Release(others);
    Forward forward(ModelWeights());
    Sequence sequence;
    ASSERT_TRUE(forward.Append(prompt, cache, sequence).ok());
    EXPECT_TRUE(KvOf(cache, sequence) == whole.kv) << "pages of " << page_tokens;
    EXPECT_TRUE(Copy(forward.Logits()) == whole.logits) << "pages of " << page_tokens;
  }
}

// So caches may be shared between machines of different kinds.
TEST(Forward, ComputesTheSameBitsOnAnyProcessor) {
  const std::vector<Token> all = LongPrompt();
  const auto prompt = std::span(all).first(140);
  const Whole whole = ComputedAtOnce(prompt);
  for (const Kernels* const kernels : AllKernels()) {
    const Whole other = ComputedAtOnce(prompt, *kernels);
    EXPECT_TRUE(other.kv == whole.kv) << kernels->name;
    EXPECT_TRUE(other.logits == whole.logits) << kernels->name;
  }
}

// Pages are used again; what is left in them must not matter, were it not even numbers.
TEST(Forward, DoesNotLookAtWhatThePagesHeldBefore) {
  const std::vector<Token> all = LongPrompt();
  const auto prompt = std::span(all).first(20);
  const Whole whole = ComputedAtOnce(prompt);
  KvCache cache = CacheFor(160);
  Sequence sequence;
  ASSERT_TRUE(cache.Reserve(sequence, 160).ok());
  ForEachRow(cache, sequence, 160,
             [](std::span<std::byte> row) { std::ranges::fill(row, std::byte{0xff}); });
  Forward forward(ModelWeights());
  ASSERT_TRUE(forward.Append(prompt, cache, sequence).ok());
  EXPECT_TRUE(KvOf(cache, sequence) == whole.kv);
  EXPECT_TRUE(Copy(forward.Logits()) == whole.logits);
}

TEST(Forward, RefusesWhatItCannotComputeAndChangesNothing) {
  KvCache cache = CacheFor(16);
  Forward forward(ModelWeights());
  Sequence sequence;
  const auto code = [&](const std::vector<Token>& tokens) {
    return forward.Append(tokens, cache, sequence).error().code();
  };
  EXPECT_EQ(code({}), ErrorCode::kInvalid);
  EXPECT_EQ(code({0, 4096}), ErrorCode::kInvalid);
  EXPECT_EQ(code(std::vector<Token>(4097)), ErrorCode::kTooLarge);  // The context.
  EXPECT_EQ(code(std::vector<Token>(17)), ErrorCode::kTooLarge);    // The pages.
  EXPECT_EQ(sequence.tokens, 0u);
  EXPECT_EQ(cache.free_pages(), 1u);
  ASSERT_TRUE(forward.Append(std::vector<Token>(16), cache, sequence).ok());
  EXPECT_EQ(code({0}), ErrorCode::kTooLarge);
  EXPECT_EQ(sequence.tokens, 16u);
}

}  // namespace
}  // namespace kvcast::tinylm
