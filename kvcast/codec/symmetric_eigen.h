#pragma once

#include <cstddef>
#include <vector>

namespace kvcast {

// A square matrix of doubles, row after row.
struct SquareMatrix {
  explicit SquareMatrix(size_t side) : size(side), values(side * side) {}

  double& operator()(size_t row, size_t column) { return values[row * size + column]; }
  double operator()(size_t row, size_t column) const { return values[row * size + column]; }
  double* Row(size_t row) { return values.data() + row * size; }
  const double* Row(size_t row) const { return values.data() + row * size; }

  size_t size;
  std::vector<double> values;
};

SquareMatrix Product(const SquareMatrix& left, const SquareMatrix& right);

// matrix = sum over i of values[i] * vector i * its transpose; vectors are of length 1, and rows.
struct SymmetricEigen {
  // Uses nothing of the library but square roots, which are exact to the last place: the same
  // matrix gives the same vectors on every machine. REQUIRES: a symmetric matrix of finite numbers.
  static SymmetricEigen Of(const SquareMatrix& matrix);
  // The matrix that has the same vectors and, for each value x, max(x, least)^(1/2), or its
  // inverse.
  SquareMatrix Root(double least) const;
  SquareMatrix InverseRoot(double least) const;

  std::vector<double> values;
  SquareMatrix vectors;

 private:
  SquareMatrix WithValues(const std::vector<double>& others) const;
};

}  // namespace kvcast
