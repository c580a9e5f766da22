#include "examples/tinylm/inference/panels.h"

#include "examples/tinylm/base/check.h"
#include "examples/tinylm/inference/bfloat16.h"

namespace kvcast::tinylm {

Panels::Panels(size_t columns, size_t depth)
    : columns_(columns), depth_(depth), values_(columns * depth) {
  TINYLM_CHECK(columns % kPanelColumns == 0);
}

void Panels::SetColumns(size_t first, std::span<const std::byte> bfloat16) {
  const size_t column_bytes = depth_ * sizeof(uint16_t);
  const size_t count = bfloat16.size() / column_bytes;
  TINYLM_CHECK(bfloat16.size() % column_bytes == 0 && first + count <= columns_);
  for (size_t i = 0; i < count; ++i) {
    const size_t column = first + i;
    const std::byte* const from = bfloat16.data() + i * column_bytes;
    float* const to =
        values_.data() + column / kPanelColumns * panel_stride() + column % kPanelColumns;
    for (size_t k = 0; k < depth_; ++k) {
      to[k * kPanelColumns] = LoadBfloat16(from + k * sizeof(uint16_t));
    }
  }
}

void Panels::CopyColumn(size_t column, std::span<float> out) const {
  TINYLM_CHECK(column < columns_ && out.size() == depth_);
  const float* const from =
      values_.data() + column / kPanelColumns * panel_stride() + column % kPanelColumns;
  for (size_t k = 0; k < depth_; ++k) {
    out[k] = from[k * kPanelColumns];
  }
}

}  // namespace kvcast::tinylm
