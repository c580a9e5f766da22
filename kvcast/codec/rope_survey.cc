#include "kvcast/codec/rope_survey.h"

#include <algorithm>
#include <cmath>

#include "kvcast/base/check.h"
#include "kvcast/codec/band_rows.h"

namespace kvcast {

RopeSurvey::RopeSurvey(std::span<const LayerShape> layers, HalfType type,
                       std::span<const Rope> ropes)
    : layers_(layers.begin(), layers.end()), type_(type) {
  KVCAST_CHECK(ropes.size() == layers.size());
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    Rope adjacent = ropes[layer];
    adjacent.adjacent = true;
    candidates_.push_back({ropes[layer], adjacent, Rope()});
    const size_t values = size_t{layers_[layer].kv_heads} * layers_[layer].key_size;
    for (Spread& spread : spreads_.emplace_back()) {
      spread.sums.resize(values);
      spread.squares.resize(values);
    }
  }
}

void RopeSurvey::Add(const BlockView& block) {
  const uint32_t tokens = block.shape().tokens();
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) {
    const BandPlace place{layer, Plane::kKey, 0, layers_[layer].kv_heads, layers_[layer].key_size};
    std::vector<float> values(place.values());
    for (size_t c = 0; c < kCandidates; ++c) {
      const TurnTable turns(candidates_[layer][c], block.position(), tokens);
      Spread& spread = spreads_[layer][c];
      for (uint32_t token = 0; token < tokens; ++token) {
        ReadUnturned(block, type_, place, token, token, &turns, values.data());
        for (size_t i = 0; i < values.size(); ++i) {
          spread.sums[i] += double{values[i]};
          spread.squares[i] += double{values[i]} * double{values[i]};
        }
      }
    }
  }
  tokens_ += tokens;
}

std::vector<Rope> RopeSurvey::Ropes() const {
  const auto tokens = static_cast<double>(std::max<uint64_t>(tokens_, 1));
  // About twice the bits that values take, by how they are spread around their means.
  const auto bits = [&](const Spread& spread) {
    double sum = 0;
    for (size_t i = 0; i < spread.sums.size(); ++i) {
      const double mean = spread.sums[i] / tokens;
      sum += std::log2(std::max(spread.squares[i] / tokens - mean * mean, 0x1p-80));
    }
    return sum;
  };
  std::vector<Rope> best;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    std::array<double, kCandidates> sums{};
    for (size_t other = 0; other < layers_.size(); ++other) {
      for (size_t c = 0; candidates_[other][0] == candidates_[layer][0] && c < kCandidates; ++c) {
        sums[c] += bits(spreads_[other][c]);
      }
    }
    const auto least = std::ranges::min_element(sums) - sums.begin();
    best.push_back(candidates_[layer][static_cast<size_t>(least)]);
  }
  return best;
}

}  // namespace kvcast
