#include "examples/tinylm/inference/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "examples/tinylm/base/check.h"

namespace kvcast::tinylm {

Token Sampler::Next(std::span<const float> logits, std::span<const Token> tokens) {
  TINYLM_CHECK(!logits.empty());
  logits_.assign(logits.begin(), logits.end());
  Penalize(tokens);
  if (sampling_.temperature > 0) {
    return Draw();
  }
  return static_cast<Token>(std::ranges::max_element(logits_) - logits_.begin());
}

void Sampler::Penalize(std::span<const Token> tokens) {
  const size_t window = std::min<size_t>(tokens.size(), sampling_.penalty_window);
  const std::span<const Token> last = tokens.last(window);
  const std::set<Token> recent(last.begin(), last.end());
  for (const Token token : recent) {
    TINYLM_CHECK(token < logits_.size());
    float& logit = logits_[token];
    logit = logit > 0 ? logit / sampling_.repetition_penalty : logit * sampling_.repetition_penalty;
  }
}

Token Sampler::Draw() {
  const double largest = *std::ranges::max_element(logits_);
  std::vector<double> sums;
  double sum = 0;
  for (const float logit : logits_) {
    sum += std::exp((logit - largest) / sampling_.temperature);
    sums.push_back(sum);
  }
  constexpr double kBelowOne = 0x1p-53;
  const double drawn = static_cast<double>(random_() >> 11) * kBelowOne * sum;
  const auto found = std::ranges::upper_bound(sums, drawn);
  return static_cast<Token>(std::min(found, sums.end() - 1) - sums.begin());
}

}  // namespace kvcast::tinylm
