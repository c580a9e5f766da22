#pragma once

#include <cstdint>
#include <vector>

#include "kvcast/kv/layer_group.h"

namespace kvcast {

// How a layer turns its keys by their position: pairs of a head's values, each as a point in a
// plane, by an angle that grows with every token.
struct Rope {
  uint32_t first = 0;     // The first of a head's values that is turned.
  bool adjacent = false;  // Pairs are values 2i and 2i + 1; else i and i + how many pairs.
  // By how much a token turns each pair, in 2^-64 of a full turn. Empty: keys are not turned.
  std::vector<uint64_t> turns;

  // As a model's parameters say; of kinds of scaling that we do not know, only the base counts.
  // Pairs are taken to lie half a head apart, since no parameter says where they do.
  static Rope Of(const LayerGroup& group);

  uint32_t pairs() const { return static_cast<uint32_t>(turns.size()); }
  friend bool operator==(const Rope&, const Rope&) = default;
};

}  // namespace kvcast
