#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/codec/half_type.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/rope.h"

namespace kvcast {

// Looks at keys to see how they are turned: a model's parameters say by how much, but not which
// values make a pair, nor always that nothing is turned at all.
//
// Turned back rightly, most of a key's values keep to a mean of their own; turned wrongly, they are
// spread around 0. Ropes that are alike get one answer.
class RopeSurvey {
 public:
  // `ropes` of all layers, as their parameters have them.
  RopeSurvey(std::span<const LayerShape> layers, HalfType type, std::span<const Rope> ropes);

  // REQUIRES: a block of these layers.
  void Add(const BlockView& block);
  // Of all layers: as they were said, with pairs side by side instead, or none.
  std::vector<Rope> Ropes() const;

 private:
  static constexpr size_t kCandidates = 3;
  struct Spread {
    std::vector<double> sums;  // Of a layer's keys.
    std::vector<double> squares;
  };

  std::vector<LayerShape> layers_;
  HalfType type_;
  std::vector<std::array<Rope, kCandidates>> candidates_;  // Of each layer.
  std::vector<std::array<Spread, kCandidates>> spreads_;
  uint64_t tokens_ = 0;
};

}  // namespace kvcast
