#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvcast {

// Rows of whole numbers times a matrix, for kernels that take two factors at a time.
//
// For each row: out[j] = the sum over k of in[k] * matrix[k][j], in 32 bits, where what is too
// large wraps around: then no order of adding matters. Matrices lie as they are read, once from
// beginning to end: all those of a model are larger than a processor's own caches.
struct MatrixProduct {
  static constexpr uint32_t kLanes = 16;

  const int16_t* in = nullptr;
  size_t in_stride = 0;
  uint32_t rows = 0;
  const int16_t* matrix = nullptr;  // [j / kLanes][k / 2][j % kLanes][k % 2]
  uint32_t pairs = 0;               // Of k.
  uint32_t outs = 0;                // A multiple of kLanes.
  uint32_t* out = nullptr;          // [row][outs]
};

// A matrix as such kernels want it, filled up with zeros.
class PairedMatrix {
 public:
  PairedMatrix() = default;
  // `at` gives what stands at (k, j).
  template <typename At>
  PairedMatrix(uint32_t ins, uint32_t outs, At at)
      : pairs_((ins + 1) / 2),
        outs_((outs + MatrixProduct::kLanes - 1) / MatrixProduct::kLanes * MatrixProduct::kLanes),
        values_(size_t{pairs_} * outs_ * 2) {
    for (uint32_t k = 0; k < ins; ++k) {
      for (uint32_t j = 0; j < outs; ++j) {
        const size_t lanes = size_t{j / MatrixProduct::kLanes} * pairs_ + k / 2;
        values_[(lanes * MatrixProduct::kLanes + j % MatrixProduct::kLanes) * 2 + k % 2] = at(k, j);
      }
    }
  }

  uint32_t outs() const { return outs_; }
  // Of a row of `in`, the last filled up with 0.
  uint32_t in_stride() const { return pairs_ * 2; }
  // REQUIRES: in_stride() numbers for each row, and room for outs().
  MatrixProduct Times(std::span<const int16_t> in, uint32_t rows, std::span<uint32_t> out) const {
    return {in.data(), in_stride(), rows, values_.data(), pairs_, outs_, out.data()};
  }

 private:
  uint32_t pairs_ = 0;
  uint32_t outs_ = 0;
  std::vector<int16_t> values_;
};

}  // namespace kvcast
