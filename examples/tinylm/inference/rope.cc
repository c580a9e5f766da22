#include "examples/tinylm/inference/rope.h"

#include <cmath>

namespace kvcast::tinylm {

Rope::Rope(size_t head_size, float theta, size_t context)
    : half_(head_size / 2), cosines_(context * half_), sines_(context * half_) {
  for (size_t i = 0; i < half_; ++i) {
    // Rounded to FP32 at every step, as when the model was trained: at position 4,000 an angle
    // computed exactly would be another one.
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(head_size);
    const auto power = static_cast<float>(std::pow(static_cast<double>(theta), exponent));
    const float frequency = 1 / power;
    for (size_t position = 0; position < context; ++position) {
      const float angle = static_cast<float>(position) * frequency;
      cosines_[position * half_ + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sines_[position * half_ + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void Rope::Rotate(const float* from, size_t position, float scale, float* to) const {
  const float* const cosines = cosines_.data() + position * half_;
  const float* const sines = sines_.data() + position * half_;
  for (size_t i = 0; i < half_; ++i) {
    const float a = from[i];
    const float b = from[i + half_];
    to[i] = (a * cosines[i] - b * sines[i]) * scale;
    to[i + half_] = (b * cosines[i] + a * sines[i]) * scale;
  }
}

}  // namespace kvcast::tinylm
