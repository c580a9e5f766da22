#pragma once

// Included where an instruction set is chosen: what stands here is compiled for it.

#include "kvcast/codec/paired_matrix.h"

namespace kvcast {

// How far ahead a matrix is asked for, in bytes: they take as long as memory to come.
inline constexpr size_t kMatrixAhead = 2560;

// Some rows and some registers of their products at once: each part of the matrix is loaded for all
// of the rows, and each pair of factors for all of the registers.
template <typename Set, uint32_t kRows, uint32_t kRegisters>
inline void MultiplyPatch(const MatrixProduct& product, uint32_t row, uint32_t first) {
  typename Set::Sums sums[kRows][kRegisters];
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t v = 0; v < kRegisters; ++v) {
      sums[r][v] = Set::Zero();
    }
  }
  const int16_t* in[kRows];
  for (uint32_t r = 0; r < kRows; ++r) {
    in[r] = product.in + (row + r) * product.in_stride;
  }
  const int16_t* matrix = product.matrix + (size_t{first / MatrixProduct::kLanes} * product.pairs *
                                                MatrixProduct::kLanes +
                                            first % MatrixProduct::kLanes) *
                                               2;
  for (uint32_t pair = 0; pair < product.pairs; ++pair, matrix += 2 * MatrixProduct::kLanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(matrix) + kMatrixAhead);
    typename Set::Sums parts[kRegisters];
    for (uint32_t v = 0; v < kRegisters; ++v) {
      parts[v] = Set::Load(matrix + v * Set::kSums * 2);
    }
    for (uint32_t r = 0; r < kRows; ++r) {
      const typename Set::Sums factors = Set::Pair(in[r] + size_t{pair} * 2);
      for (uint32_t v = 0; v < kRegisters; ++v) {
        sums[r][v] = Set::AddProducts(sums[r][v], factors, parts[v]);
      }
    }
  }
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t v = 0; v < kRegisters; ++v) {
      Set::Store(product.out + size_t{row + r} * product.outs + first + v * Set::kSums, sums[r][v]);
    }
  }
}

template <typename Set, uint32_t kRows, uint32_t kRegisters>
inline void MultiplyColumns(const MatrixProduct& product, uint32_t first) {
  uint32_t row = 0;
  for (; row + kRows <= product.rows; row += kRows) {
    MultiplyPatch<Set, kRows, kRegisters>(product, row, first);
  }
  for (; row + 4 <= product.rows; row += 4) {
    MultiplyPatch<Set, 4, kRegisters>(product, row, first);
  }
  for (; row < product.rows; ++row) {
    MultiplyPatch<Set, 1, kRegisters>(product, row, first);
  }
}

template <typename Set, uint32_t kRows>
inline void AnyMultiply(const MatrixProduct& product) {
  for (uint32_t first = 0; first < product.outs; first += MatrixProduct::kLanes) {
    MultiplyColumns<Set, kRows, MatrixProduct::kLanes / Set::kSums>(product, first);
  }
}

}  // namespace kvcast
