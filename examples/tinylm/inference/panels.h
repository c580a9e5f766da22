#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "examples/tinylm/inference/aligned_floats.h"
#include "examples/tinylm/inference/kernels.h"

namespace kvcast::tinylm {

// A matrix as Kernels::multiply reads it, `depth` rows of `columns`:
//
//   panels := panel[columns / 64]    panel := row[depth]    row := float[64]
//
// A linear layer's weights are the columns: its output i is the input times column i.
class Panels {
 public:
  Panels() = default;
  // Of zeros. REQUIRES: columns is a multiple of kPanelColumns.
  Panels(size_t columns, size_t depth);

  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  size_t panel_stride() const { return depth_ * kPanelColumns; }
  const float* data() const { return values_.data(); }

  // Takes columns `first` and following from BF16 values, column after column, as safetensors
  // keeps a layer's [out, in]. REQUIRES: whole columns, and that they are there.
  void SetColumns(size_t first, std::span<const std::byte> bfloat16);
  // REQUIRES: out.size() == depth().
  void CopyColumn(size_t column, std::span<float> out) const;

 private:
  size_t columns_ = 0;
  size_t depth_ = 0;
  AlignedFloats values_;
};

}  // namespace kvcast::tinylm
