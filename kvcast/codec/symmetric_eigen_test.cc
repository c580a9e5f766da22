#include "kvcast/codec/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// Of a lower rank than its size, as covariances of few tokens are.
SquareMatrix Symmetric(size_t size, size_t rank) {
  Random random(size * 100 + rank);
  SquareMatrix matrix(size);
  for (size_t r = 0; r < rank; ++r) {
    std::vector<double> vector(size);
    for (double& value : vector) {
      value = static_cast<double>(random.Below(2001)) / 1000 - 1;
    }
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        matrix(i, j) += vector[i] * vector[j];
      }
    }
  }
  return matrix;
}

double LargestDifference(const SquareMatrix& a, const SquareMatrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    most = std::max(most, std::abs(a.values[i] - b.values[i]));
  }
  return most;
}

TEST(SymmetricEigen, TakesAMatrixApartSoThatItsPartsMakeItAgain) {
  for (const size_t size : {1u, 2u, 3u, 8u, 33u, 64u}) {
    for (const size_t rank : {size, size / 2 + 1}) {
      const SquareMatrix matrix = Symmetric(size, rank);
      const SymmetricEigen eigen = SymmetricEigen::Of(matrix);
      SquareMatrix again(size);
      SquareMatrix lengths(size);
      SquareMatrix identity(size);
      for (size_t i = 0; i < size; ++i) {
        identity(i, i) = 1;
        for (size_t j = 0; j < size; ++j) {
          for (size_t k = 0; k < size; ++k) {
            again(i, j) += eigen.vectors(k, i) * eigen.vectors(k, j) * eigen.values[k];
            lengths(i, j) += eigen.vectors(i, k) * eigen.vectors(j, k);
          }
        }
      }
      EXPECT_LT(LargestDifference(again, matrix), 1e-11) << size << " " << rank;
      EXPECT_LT(LargestDifference(lengths, identity), 1e-12) << size << " " << rank;
    }
  }
}

TEST(SymmetricEigen, HasARootAndItsInverse) {
  const SquareMatrix matrix = Symmetric(24, 40);
  const SymmetricEigen eigen = SymmetricEigen::Of(matrix);
  const SquareMatrix root = eigen.Root(1e-9);
  EXPECT_LT(LargestDifference(Product(root, root), matrix), 1e-11);
  const SquareMatrix one = Product(root, eigen.InverseRoot(1e-9));
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(one(i, i), 1, 1e-9);
  }
}

TEST(SymmetricEigen, NeedsNothingButZerosToStop) {
  const SymmetricEigen eigen = SymmetricEigen::Of(SquareMatrix(5));
  for (const double value : eigen.values) {
    EXPECT_EQ(value, 0);
  }
}

}  // namespace
}  // namespace kvcast
