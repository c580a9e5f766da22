#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "examples/tinylm/base/token.h"

namespace kvcast::tinylm {

struct Sampling {
  // 0 takes the likeliest token; 1 draws by the model's own odds, more makes them more alike.
  float temperature = 0;
  // Divides the odds of what was said a moment ago: a model this small soon repeats itself else.
  // 1 leaves them alone.
  float repetition_penalty = 1.3F;
  // How many tokens back that moment reaches, the prompt's included.
  uint32_t penalty_window = 64;
  // Of the draws: the same seed, the same text.
  uint64_t seed = 1;
};

// Chooses the token that follows. Deterministic: the same logits and tokens, the same choices.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed) {}

  // `tokens` is all that was said so far. REQUIRES: logits, and no token beyond them.
  Token Next(std::span<const float> logits, std::span<const Token> tokens);

 private:
  void Penalize(std::span<const Token> tokens);
  Token Draw();

  Sampling sampling_;
  std::mt19937_64 random_;
  std::vector<float> logits_;
};

}  // namespace kvcast::tinylm
