#include "kvcast/codec/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvcast {
namespace {

constexpr int kRotationsMax = 60;  // For one value; two or three are usual.

// A symmetric matrix as basis^T * tridiagonal * basis, by reflections; rows of `basis`.
struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> beside;  // beside[i] is right of diagonal[i].
  SquareMatrix basis;
};

// The reflection that takes column `column`, below `column`, to a multiple of one axis. Gives 2 /
// |v|^2, or 0 if there is nothing to do.
double ReflectionOf(const SquareMatrix& a, size_t column, std::vector<double>& v, double* taken) {
  const size_t n = a.size;
  double square = 0;
  for (size_t i = column + 1; i < n; ++i) {
    v[i] = a(i, column);
    square += v[i] * v[i];
  }
  const double length = v[column + 1] > 0 ? -std::sqrt(square) : std::sqrt(square);
  *taken = length;
  double rest = square - v[column + 1] * v[column + 1];
  v[column + 1] -= length;
  rest += v[column + 1] * v[column + 1];
  return rest > 0 ? 2 / rest : 0;
}

Tridiagonal Tridiagonalised(SquareMatrix a) {
  const size_t n = a.size;
  Tridiagonal result{std::vector<double>(n), std::vector<double>(n), SquareMatrix(n)};
  for (size_t i = 0; i < n; ++i) {
    result.basis(i, i) = 1;
  }
  std::vector<double> v(n);
  std::vector<double> p(n);
  for (size_t k = 0; k + 2 < n; ++k) {
    double taken = 0;
    const double beta = ReflectionOf(a, k, v, &taken);
    result.beside[k] = taken;
    if (beta == 0) {
      continue;
    }
    // a := (1 - beta v v^T) a (1 - beta v v^T), below and right of k.
    double along = 0;
    for (size_t i = k + 1; i < n; ++i) {
      double sum = 0;
      const double* const row = a.Row(i);
      for (size_t j = k + 1; j < n; ++j) {
        sum += row[j] * v[j];
      }
      p[i] = beta * sum;
      along += p[i] * v[i];
    }
    for (size_t i = k + 1; i < n; ++i) {
      p[i] -= beta / 2 * along * v[i];
    }
    for (size_t i = k + 1; i < n; ++i) {
      double* const row = a.Row(i);
      for (size_t j = k + 1; j < n; ++j) {
        row[j] -= v[i] * p[j] + p[i] * v[j];
      }
    }
    // basis := (1 - beta v v^T) basis.
    std::fill(p.begin(), p.end(), 0.0);
    for (size_t i = k + 1; i < n; ++i) {
      const double* const row = result.basis.Row(i);
      for (size_t j = 0; j < n; ++j) {
        p[j] += v[i] * row[j];
      }
    }
    for (size_t i = k + 1; i < n; ++i) {
      double* const row = result.basis.Row(i);
      const double factor = beta * v[i];
      for (size_t j = 0; j < n; ++j) {
        row[j] -= factor * p[j];
      }
    }
  }
  if (n >= 2) {
    result.beside[n - 2] = a(n - 1, n - 2);
  }
  for (size_t i = 0; i < n; ++i) {
    result.diagonal[i] = a(i, i);
  }
  return result;
}

// One sweep of rotations from `last` up to `first`, shifted towards the value at `first`.
void RotateOnce(Tridiagonal& t, size_t first, size_t last) {
  std::vector<double>& d = t.diagonal;
  std::vector<double>& e = t.beside;
  double g = (d[first + 1] - d[first]) / (2 * e[first]);
  double r = std::sqrt(g * g + 1);
  g = d[last] - d[first] + e[first] / (g + (g < 0 ? -r : r));
  double sine = 1;
  double cosine = 1;
  double p = 0;
  for (size_t i = last; i-- > first;) {
    const double f = sine * e[i];
    const double b = cosine * e[i];
    r = std::sqrt(f * f + g * g);
    e[i + 1] = r;
    if (r == 0) {  // It has split by itself.
      d[i + 1] -= p;
      e[last] = 0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * sine + 2 * cosine * b;
    p = sine * r;
    d[i + 1] = g + p;
    g = cosine * r - b;
    double* const upper = t.basis.Row(i);
    double* const lower = t.basis.Row(i + 1);
    for (size_t k = 0; k < t.basis.size; ++k) {
      const double below = lower[k];
      lower[k] = sine * upper[k] + cosine * below;
      upper[k] = cosine * upper[k] - sine * below;
    }
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0;
}

}  // namespace

SquareMatrix Product(const SquareMatrix& left, const SquareMatrix& right) {
  SquareMatrix product(left.size);
  for (size_t i = 0; i < left.size; ++i) {
    double* const row = product.Row(i);
    for (size_t k = 0; k < left.size; ++k) {
      const double factor = left(i, k);
      const double* const other = right.Row(k);
      if (factor == 0) {
        continue;
      }
      for (size_t j = 0; j < left.size; ++j) {
        row[j] += factor * other[j];
      }
    }
  }
  return product;
}

SymmetricEigen SymmetricEigen::Of(const SquareMatrix& matrix) {
  Tridiagonal t = Tridiagonalised(matrix);
  const size_t n = matrix.size;
  for (size_t first = 0; first < n; ++first) {
    for (int tries = 0; tries < kRotationsMax; ++tries) {
      size_t last = first;
      for (; last + 1 < n; ++last) {
        const double around = std::abs(t.diagonal[last]) + std::abs(t.diagonal[last + 1]);
        if (std::abs(t.beside[last]) <= 0x1p-52 * around) {
          break;
        }
      }
      if (last == first) {
        break;
      }
      RotateOnce(t, first, last);
    }
  }
  return {std::move(t.diagonal), std::move(t.basis)};
}

SquareMatrix SymmetricEigen::WithValues(const std::vector<double>& others) const {
  SquareMatrix scaled = vectors;
  SquareMatrix transposed(vectors.size);
  for (size_t i = 0; i < vectors.size; ++i) {
    for (size_t j = 0; j < vectors.size; ++j) {
      scaled(i, j) *= others[i];
      transposed(j, i) = vectors(i, j);
    }
  }
  return Product(transposed, scaled);
}

SquareMatrix SymmetricEigen::Root(double least) const {
  std::vector<double> roots;
  for (const double value : values) {
    roots.push_back(std::sqrt(std::max(value, least)));
  }
  return WithValues(roots);
}

SquareMatrix SymmetricEigen::InverseRoot(double least) const {
  std::vector<double> roots;
  for (const double value : values) {
    roots.push_back(1 / std::sqrt(std::max(value, least)));
  }
  return WithValues(roots);
}

}  // namespace kvcast
