#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcast/codec/number_rows.h"
#include "kvcast/kv/rope.h"

namespace kvcast {

// Cosine and sine in units of 2^-30, by whole numbers alone: the same on every machine.
struct Turn {
  int32_t cosine = 0;
  int32_t sine = 0;

  // `phase` is in 2^-32 of a full turn. Right within 4 units.
  static Turn Of(uint32_t phase);
};

// How the keys of a run of tokens are turned, and turns them back and forth.
class TurnTable {
 public:
  TurnTable(const Rope& rope, size_t position, uint32_t tokens);

  // A head of the run's `token`, as it is without its position, to as attention reads it; and back.
  // FP32, nothing fused.
  void Turn(uint32_t token, float* head) const;
  void TurnBack(uint32_t token, float* head) const;

 private:
  template <bool kBack>
  void TurnBy(uint32_t token, float* head) const;

  uint32_t first_;
  uint32_t pairs_;
  bool adjacent_;
  std::vector<float> cosines_;  // Per token and pair.
  std::vector<float> sines_;
};

// The same as kernels want it.
class SplitTurns {
 public:
  SplitTurns(const Rope& rope, size_t position, uint32_t tokens);
  RowTurns rows() const;

 private:
  uint32_t first_;
  uint32_t pairs_;
  bool adjacent_;
  size_t stride_;
  std::vector<float> cosines_;
  std::vector<float> sines_;
};

}  // namespace kvcast
