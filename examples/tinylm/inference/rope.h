#pragma once

#include <cstddef>

#include "examples/tinylm/inference/aligned_floats.h"

namespace kvcast::tinylm {

// Tells attention where a token stands, by turning pairs of values of a head: value i with value
// i + size / 2 ("rotated halves", Hugging Face's layout), by position * theta^(-2i / size).
class Rope {
 public:
  // For positions below `context`.
  Rope(size_t head_size, float theta, size_t context);

  // Turns one head and multiplies it by `scale`. `to` may be `from`.
  void Rotate(const float* from, size_t position, float scale, float* to) const;

 private:
  size_t half_;
  AlignedFloats cosines_;  // [context][half]
  AlignedFloats sines_;
};

}  // namespace kvcast::tinylm
