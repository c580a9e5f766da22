#include "examples/tinylm/inference/sampler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvcast::tinylm {
namespace {

constexpr float kLogits[] = {1, 4, 3.5F, -2};

TEST(Sampler, TakesTheLikeliest) {
  Sampler sampler({.repetition_penalty = 1});
  EXPECT_EQ(sampler.Next(kLogits, {}), 1u);
  EXPECT_EQ(sampler.Next(kLogits, std::vector<Token>{1, 1, 1}), 1u);
  EXPECT_EQ(sampler.Next(std::vector<float>{2, 2}, {}), 0u) << "the first of equals";
}

TEST(Sampler, AvoidsWhatWasJustSaid) {
  Sampler sampler({.repetition_penalty = 1.3F, .penalty_window = 2});
  EXPECT_EQ(sampler.Next(kLogits, std::vector<Token>{1}), 2u);
  EXPECT_EQ(sampler.Next(kLogits, std::vector<Token>{1, 2}), 1u) << "both were said";
  EXPECT_EQ(sampler.Next(kLogits, std::vector<Token>{1, 0, 0}), 1u) << "forgotten";
  // Once, however often it was said: 3.5 / 1.3 is more than 1.
  EXPECT_EQ(sampler.Next(std::vector<float>{1, 3.5F}, std::vector<Token>{1, 1}), 1u);
  // What is unlikely already becomes more so.
  EXPECT_EQ(sampler.Next(std::vector<float>{-2, -2.1F}, std::vector<Token>{0}), 1u);
}

TEST(Sampler, DrawsByTheOddsAndTheSeed) {
  Sampler sampler({.temperature = 2, .repetition_penalty = 1, .seed = 7});
  Sampler again({.temperature = 2, .repetition_penalty = 1, .seed = 7});
  constexpr size_t kDraws = 20000;
  double counts[4] = {};
  for (size_t i = 0; i < kDraws; ++i) {
    const Token token = sampler.Next(kLogits, {});
    EXPECT_EQ(again.Next(kLogits, {}), token);
    counts[token] += 1;
  }
  double sum = 0;
  for (const float logit : kLogits) {
    sum += std::exp(logit / 2);
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(counts[i] / kDraws, std::exp(kLogits[i] / 2) / sum, 0.01);
  }
}

}  // namespace
}  // namespace kvcast::tinylm
