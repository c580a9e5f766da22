#include "examples/tinylm/inference/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "examples/tinylm/inference/model_test.h"
#include "examples/tinylm/inference/panels.h"
#include "kvcast/base/random.h"

namespace kvcast::tinylm {
namespace {

AlignedFloats RandomFloats(size_t count, uint64_t seed, float scale = 1) {
  Random random(seed);
  AlignedFloats values(count);
  for (float& value : values) {
    value = scale * (static_cast<float>(random.Below(2000001)) / 1e6F - 1);
  }
  return values;
}

struct Shape {
  size_t rows;
  size_t depth;
  size_t columns;
};

// a times b, where b's panels are as random as the rest, into rows with a gap between them.
AlignedFloats Multiplied(const Kernels& kernels, const Shape& shape, const AlignedFloats& a,
                         const AlignedFloats& panels, bool accumulate) {
  const size_t stride = shape.columns + 16;
  AlignedFloats out(shape.rows * stride, 0.5F);
  Product product;
  product.a = a.data();
  product.a_stride = shape.depth;
  product.panels = panels.data();
  product.panel_stride = shape.depth * kPanelColumns;
  product.out = out.data();
  product.out_stride = stride;
  product.rows = shape.rows;
  product.depth = shape.depth;
  product.columns = shape.columns;
  product.accumulate = accumulate;
  kernels.multiply(product);
  return out;
}

TEST(Kernels, MultiplyAsExactArithmeticWould) {
  for (const size_t rows : {1u, 2u, 5u, 6u, 7u, 13u}) {
    const Shape shape{rows, 37, 128};
    const AlignedFloats a = RandomFloats(rows * shape.depth, 1);
    const AlignedFloats panels = RandomFloats(shape.depth * shape.columns, 2);
    for (const bool accumulate : {false, true}) {
      const AlignedFloats out = Multiplied(BestKernels(), shape, a, panels, accumulate);
      for (size_t row = 0; row < rows; ++row) {
        for (size_t column = 0; column < shape.columns; ++column) {
          const float* const panel = &panels[column / kPanelColumns * shape.depth * kPanelColumns];
          double exact = accumulate ? 0.5 : 0;
          for (size_t k = 0; k < shape.depth; ++k) {
            exact += double{a[row * shape.depth + k]} *
                     double{panel[k * kPanelColumns + column % kPanelColumns]};
          }
          ASSERT_NEAR(out[row * (shape.columns + 16) + column], exact, 1e-5);
        }
        ASSERT_EQ(out[row * (shape.columns + 16) + shape.columns], 0.5F) << "wrote too far";
      }
    }
  }
}

TEST(Kernels, MultiplyARowTheSameWhateverIsBesideIt) {
  const Shape all{29, 704, 192};
  const AlignedFloats a = RandomFloats(all.rows * all.depth, 3);
  const AlignedFloats panels = RandomFloats(all.depth * all.columns, 4);
  const AlignedFloats together = Multiplied(BestKernels(), all, a, panels, true);
  const size_t stride = all.columns + 16;
  for (size_t row = 0; row < all.rows; ++row) {
    const auto from = a.begin() + static_cast<std::ptrdiff_t>(row * all.depth);
    const AlignedFloats one(from, from + static_cast<std::ptrdiff_t>(all.depth));
    const AlignedFloats alone =
        Multiplied(BestKernels(), {1, all.depth, all.columns}, one, panels, true);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), &together[row * stride])) << row;
  }
}

TEST(Kernels, AllComputeTheSameBits) {
  const Shape shape{9, 65, 256};
  const AlignedFloats a = RandomFloats(shape.rows * shape.depth, 5);
  const AlignedFloats panels = RandomFloats(shape.depth * shape.columns, 6);
  const AlignedFloats gates = RandomFloats(704, 7, 30);
  for (const Kernels* const kernels : AllKernels()) {
    SCOPED_TRACE(kernels->name);
    for (const bool accumulate : {false, true}) {
      EXPECT_EQ(Multiplied(*kernels, shape, a, panels, accumulate),
                Multiplied(PortableKernels(), shape, a, panels, accumulate));
    }
    EXPECT_EQ(kernels->sum_of_squares(gates.data(), gates.size()),
              PortableKernels().sum_of_squares(gates.data(), gates.size()));
    AlignedFloats gated = gates;
    AlignedFloats expected = gates;
    kernels->gate(gated.data(), panels.data(), gated.size());
    PortableKernels().gate(expected.data(), panels.data(), expected.size());
    EXPECT_EQ(gated, expected);
    for (const size_t valid : {1u, 15u, 16u, 17u, 128u}) {
      AlignedFloats scores = RandomFloats(128, valid, 200);
      AlignedFloats portable = scores;
      SoftmaxState state{3, 2};
      SoftmaxState portable_state{3, 2};
      EXPECT_EQ(kernels->weigh(scores.data(), valid, 128, state),
                PortableKernels().weigh(portable.data(), valid, 128, portable_state));
      EXPECT_EQ(scores, portable);
      EXPECT_EQ(state.sum, portable_state.sum);
      EXPECT_EQ(state.largest, portable_state.largest);
    }
  }
}

TEST(Kernels, GateAsSiluIsDefined) {
  AlignedFloats gates = RandomFloats(4096, 8, 20);
  gates[0] = -1000;
  gates[1] = 1000;
  gates[2] = 0;
  const AlignedFloats up = RandomFloats(gates.size(), 9);
  AlignedFloats gated = gates;
  BestKernels().gate(gated.data(), up.data(), gated.size());
  for (size_t i = 0; i < gates.size(); ++i) {
    const double x = gates[i];
    const double exact = x / (1 + std::exp(-x)) * double{up[i]};
    // e^20 is 2^28.85; that exponent is rounded once more than the rest.
    EXPECT_NEAR(gated[i], exact, 3e-6 * std::abs(exact) + 1e-30) << x;
  }
}

// Scores come tile by tile, and the largest may come last.
TEST(Kernels, WeighTilesLikeOneSoftmax) {
  constexpr size_t kTile = 64;
  constexpr size_t kValid = 3 * kTile - 11;
  AlignedFloats scores = RandomFloats(3 * kTile, 10, 12);
  scores[2 * kTile + 5] = 20;
  double sum = 0;
  for (size_t i = 0; i < kValid; ++i) {
    sum += std::exp2(double{scores[i]} - 20);
  }
  AlignedFloats weights = scores;
  SoftmaxState state;
  std::vector<float> factors;
  for (size_t tile = 0; tile < 3; ++tile) {
    const size_t valid = std::min(kTile, kValid - tile * kTile);
    factors.push_back(BestKernels().weigh(&weights[tile * kTile], valid, kTile, state));
  }
  EXPECT_EQ(state.largest, 20);
  EXPECT_NEAR(state.sum, sum, 1e-6 * sum);
  for (size_t i = 0; i < weights.size(); ++i) {
    double weight = weights[i];
    for (size_t later = i / kTile + 1; later < 3; ++later) {
      weight *= double{factors[later]};
    }
    const double exact = i < kValid ? std::exp2(double{scores[i]} - 20) : 0;
    EXPECT_NEAR(weight, exact, 1e-6 * exact) << i;
  }
}

// What was weighted already keeps its bits while the largest score does not change.
TEST(Kernels, WeighsByOneWhereNothingLargerComes) {
  AlignedFloats scores(16, 1.0F);
  SoftmaxState state{4, 1};
  EXPECT_EQ(BestKernels().weigh(scores.data(), 16, 16, state), 1.0F);
  EXPECT_EQ(scores, AlignedFloats(16, 0.125F));
  EXPECT_EQ(state.sum, 3);
}

}  // namespace
}  // namespace kvcast::tinylm
