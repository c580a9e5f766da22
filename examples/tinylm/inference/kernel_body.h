#pragma once

#include "examples/tinylm/inference/kernels.h"

// The kernels, written once over vectors of kLanes floats. `V` says how a processor does these:
//
//   V::Vector                         kLanes floats
//   V::kTileRows, V::kTileVectors     how many rows and vectors of sums its registers hold
//   V::Set(x), Load(p), Store(p, v)
//   V::Add(a, b), Subtract, Divide, Max, Min, Multiply
//   V::MultiplyAdd(a, b, c)           a * b + c, rounded once
//   V::ShiftExponent(v, n)            adds the integer in n's low bits to v's exponent
//
// Each file that includes this passes a type of its own, in an unnamed namespace: code for one
// processor must never be taken for another's.

namespace kvcast::tinylm {

// Sums of kRows rows and kVectors vectors of columns, in registers from the first k to the last.
template <typename V, size_t kRows, size_t kVectors>
inline void MultiplyTile(const Product& product, size_t row, const float* panel, float* out) {
  typename V::Vector sums[kRows][kVectors];
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] =
          product.accumulate ? V::Load(out + r * product.out_stride + v * kLanes) : V::Set(0);
    }
  }
  const float* const a = product.a + row * product.a_stride;
  for (size_t k = 0; k < product.depth; ++k) {
    typename V::Vector b[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      b[v] = V::Load(panel + k * kPanelColumns + v * kLanes);
    }
    for (size_t r = 0; r < kRows; ++r) {
      const typename V::Vector factor = V::Set(a[r * product.a_stride + k]);
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = V::MultiplyAdd(factor, b[v], sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      V::Store(out + r * product.out_stride + v * kLanes, sums[r][v]);
    }
  }
}

// The rows that no whole tile is left for: fewer than kRows.
template <typename V, size_t kRows>
inline void MultiplyRest(const Product& product, size_t row, const float* panel, float* out) {
  if constexpr (kRows > 1) {
    if (product.rows - row == kRows - 1) {
      MultiplyTile<V, kRows - 1, V::kTileVectors>(product, row, panel, out);
    } else {
      MultiplyRest<V, kRows - 1>(product, row, panel, out);
    }
  }
}

template <typename V>
void Multiply(const Product& product) {
  constexpr size_t kRows = V::kTileRows;
  constexpr size_t kColumns = V::kTileVectors * kLanes;
  static_assert(kPanelColumns % kColumns == 0);
  for (size_t column = 0; column < product.columns; column += kColumns) {
    // This part of the panel stays in the cache while all rows pass by.
    const float* const panel =
        product.panels + column / kPanelColumns * product.panel_stride + column % kPanelColumns;
    size_t row = 0;
    for (; row + kRows <= product.rows; row += kRows) {
      MultiplyTile<V, kRows, V::kTileVectors>(product, row, panel,
                                              product.out + row * product.out_stride + column);
    }
    MultiplyRest<V, kRows>(product, row, panel, product.out + row * product.out_stride + column);
  }
}

// 2^x to within 2e-7 of itself; exactly 1 for 0, and 0 for anything below -127.
template <typename V>
inline typename V::Vector Exp2(typename V::Vector x) {
  // Added to a number of this size, everything behind the point is rounded away.
  const typename V::Vector whole = V::Set(12582912.0F);  // 1.5 * 2^23
  x = V::Min(V::Max(x, V::Set(-127)), V::Set(127));
  const typename V::Vector shifted = V::Add(x, whole);
  const typename V::Vector rest = V::Subtract(x, V::Subtract(shifted, whole));
  // Fitted to 2^x for |x| <= 1/2, with the least relative error that a first term of 1 allows.
  typename V::Vector power = V::Set(0.0013264727F);
  power = V::MultiplyAdd(power, rest, V::Set(0.009671513F));
  power = V::MultiplyAdd(power, rest, V::Set(0.055507336F));
  power = V::MultiplyAdd(power, rest, V::Set(0.24022242F));
  power = V::MultiplyAdd(power, rest, V::Set(0.693147F));
  power = V::MultiplyAdd(power, rest, V::Set(1));
  return V::ShiftExponent(power, shifted);
}

// Of kLanes values to one, always in the same pairs.
template <typename V>
inline float AddLanes(typename V::Vector vector) {
  float lanes[kLanes];
  V::Store(lanes, vector);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] += lanes[i + half];
    }
  }
  return lanes[0];
}
template <typename V>
inline float MaxLane(typename V::Vector vector) {
  float lanes[kLanes];
  V::Store(lanes, vector);
  float largest = lanes[0];
  for (size_t i = 1; i < kLanes; ++i) {
    largest = lanes[i] > largest ? lanes[i] : largest;
  }
  return largest;
}

template <typename V>
float Weigh(float* scores, size_t valid, size_t count, SoftmaxState& state) {
  const size_t whole = (valid + kLanes - 1) / kLanes * kLanes;
  for (size_t i = valid; i < whole; ++i) {
    scores[i] = -1e30F;
  }
  typename V::Vector largest = V::Set(state.largest);
  for (size_t i = 0; i < whole; i += kLanes) {
    largest = V::Max(largest, V::Load(scores + i));
  }
  const float before = state.largest;
  state.largest = MaxLane<V>(largest);
  const typename V::Vector base = V::Set(state.largest);
  typename V::Vector sums = V::Set(0);
  for (size_t i = 0; i < whole; i += kLanes) {
    const typename V::Vector weights = Exp2<V>(V::Subtract(V::Load(scores + i), base));
    sums = V::Add(sums, weights);
    V::Store(scores + i, weights);
  }
  for (size_t i = whole; i < count; ++i) {
    scores[i] = 0;
  }
  float factors[kLanes];
  V::Store(factors, Exp2<V>(V::Subtract(V::Set(before), base)));
  const float scaled = state.sum * factors[0];
  state.sum = scaled + AddLanes<V>(sums);
  return factors[0];
}

// silu(x) = x / (1 + e^-x)
template <typename V>
void Gate(float* gate, const float* up, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const typename V::Vector x = V::Load(gate + i);
    const typename V::Vector power = Exp2<V>(V::Multiply(x, V::Set(-1.44269504F)));
    const typename V::Vector silu = V::Divide(x, V::Add(V::Set(1), power));
    V::Store(gate + i, V::Multiply(silu, V::Load(up + i)));
  }
}

template <typename V>
float SumOfSquares(const float* values, size_t count) {
  typename V::Vector sums = V::Set(0);
  for (size_t i = 0; i < count; i += kLanes) {
    const typename V::Vector vector = V::Load(values + i);
    sums = V::MultiplyAdd(vector, vector, sums);
  }
  return AddLanes<V>(sums);
}

template <typename V>
constexpr Kernels KernelsOf(const char* name) {
  return {name, &Multiply<V>, &Weigh<V>, &Gate<V>, &SumOfSquares<V>};
}

}  // namespace kvcast::tinylm
