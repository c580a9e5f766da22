#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "examples/tinylm/inference/aligned_floats.h"
#include "examples/tinylm/inference/kernels.h"
#include "examples/tinylm/inference/kv_cache.h"

namespace kvcast::tinylm {

// K and V of some consecutive tokens and one head, taken from their pages into FP32 and laid out
// as Kernels::multiply reads them:
//
//   keys   := panel[kTokens / 64]      panel := row[head_size]   row := float[64]   (transposed)
//   values := panel[head_size / 64]    panel := row[kTokens]     row := float[64]
class KvTile {
 public:
  static constexpr size_t kTokens = 128;
  static_assert(kTokens % kPanelColumns == 0);

  // REQUIRES: head_size is a multiple of kPanelColumns.
  explicit KvTile(size_t head_size);

  // Takes tokens [begin, end) of the sequence in `pages`; of those behind them in the tile, it does
  // not matter what they are. REQUIRES: begin < end <= begin + kTokens, and that they are there.
  void Load(const KvCache& cache, std::span<const uint32_t> pages, size_t layer, uint32_t head,
            size_t begin, size_t end);

  const float* keys() const { return keys_.data(); }
  size_t key_panel_stride() const { return head_size_ * kPanelColumns; }
  const float* values() const { return values_.data(); }
  size_t value_panel_stride() const { return kTokens * kPanelColumns; }

 private:
  size_t head_size_;
  AlignedFloats keys_;
  AlignedFloats values_;
};

}  // namespace kvcast::tinylm
