#include "examples/tinylm/inference/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "examples/tinylm/inference/bfloat16.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "kvcast/base/random.h"

namespace kvcast::tinylm {
namespace {

// Sizes that the model does not have.
Config ConfigOf(uint32_t heads, uint32_t kv_heads, uint32_t head_size) {
  Config config;
  config.layers = 2;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_size = head_size;
  return config;
}

float RandomValue(Random& random) { return static_cast<float>(random.Below(2001)) / 1e3F - 1; }

// A sequence of random K and V in the second layer.
struct RandomKv {
  RandomKv(const Config& config, uint32_t tokens)
      : cache(*KvCache::Of(config, 5, tokens)), random(tokens) {
    EXPECT_TRUE(cache.Reserve(sequence, tokens).ok());
    for (uint32_t token = 0; token < tokens; ++token) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t i = 0; i < config.kv_size(); ++i) {
          std::byte* const row = cache.At(1, plane, sequence.pages[token / 5], token % 5, 0);
          StoreBfloat16(RandomValue(random), row + i * sizeof(uint16_t));
        }
      }
    }
  }
  const std::byte* At(Plane plane, uint32_t token, uint32_t head) const {
    return cache.At(1, plane, sequence.pages[token / 5], token % 5, head);
  }

  KvCache cache;
  Sequence sequence;
  Random random;
};

// One value of what a query sees of the first `count` tokens, by the definition.
double Seen(const RandomKv& kv, const float* query, size_t head_size, uint32_t kv_head,
            uint32_t count, size_t value) {
  double sum = 0;
  double weighted = 0;
  for (uint32_t token = 0; token < count; ++token) {
    double score = 0;
    for (size_t i = 0; i < head_size; ++i) {
      score += double{query[i]} * double{LoadBfloat16(kv.At(Plane::kKey, token, kv_head) + 2 * i)};
    }
    const double weight = std::exp2(score);
    sum += weight;
    weighted += weight * double{LoadBfloat16(kv.At(Plane::kValue, token, kv_head) + 2 * value)};
  }
  return weighted / sum;
}

TEST(Attention, SeesEachTokenUpToItsOwnByItsWeight) {
  for (const Config& config : {ConfigOf(4, 2, 64), ConfigOf(3, 1, 128), ConfigOf(2, 2, 64)}) {
    SCOPED_TRACE(std::to_string(config.heads) + " heads of " + std::to_string(config.head_size));
    constexpr uint32_t kTokens = 150;
    constexpr uint32_t kRows = 40;
    constexpr uint32_t kFirst = kTokens - kRows;
    RandomKv kv(config, kTokens);
    Attention attention(config, BestKernels(), kRows);
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t head = 0; head < config.heads; ++head) {
        for (size_t i = 0; i < config.head_size; ++i) {
          attention.Query(row, head)[i] = RandomValue(kv.random);
        }
      }
    }
    AlignedFloats out(kRows * config.query_size());
    attention.Run(kv.cache, kv.sequence.pages, 1, kFirst, kRows, out.data());
    for (const uint32_t row : {0u, 17u, 18u, kRows - 1}) {
      for (uint32_t head = 0; head < config.heads; ++head) {
        for (const size_t value : {size_t{0}, size_t{config.head_size - 1}}) {
          const auto kv_head = static_cast<uint32_t>(head / config.group());
          EXPECT_NEAR(out[row * config.query_size() + head * config.head_size + value],
                      Seen(kv, attention.Query(row, head), config.head_size, kv_head,
                           kFirst + row + 1, value),
                      1e-5);
        }
      }
    }
  }
}

// The first token sees itself only, whatever the scores.
TEST(Attention, GivesTheFirstTokenItsOwnValue) {
  const Config config = ConfigOf(1, 1, 64);
  const RandomKv kv(config, 1);
  Attention attention(config, BestKernels(), 1);
  std::fill_n(attention.Query(0, 0), 64, 1000.0F);
  AlignedFloats out(64);
  attention.Run(kv.cache, kv.sequence.pages, 1, 0, 1, out.data());
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(out[i], LoadBfloat16(kv.At(Plane::kValue, 0, 0) + 2 * i));
  }
}

}  // namespace
}  // namespace kvcast::tinylm
