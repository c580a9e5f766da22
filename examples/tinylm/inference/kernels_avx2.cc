// Compiled for AVX2 with FMA: nothing in here runs elsewhere, see kernels.cc.
#include "examples/tinylm/inference/kernel_body.h"
#include "examples/tinylm/inference/kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace kvcast::tinylm {
namespace {

struct Avx2 {
  struct Vector {
    __m256 low;
    __m256 high;
  };
  // 12 of the 16 registers are sums, 2 the row of a panel.
  static constexpr size_t kTileRows = 6;
  static constexpr size_t kTileVectors = 1;

  static Vector Set(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static Vector Load(const float* from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static void Store(float* to, Vector vector) {
    _mm256_storeu_ps(to, vector.low);
    _mm256_storeu_ps(to + 8, vector.high);
  }
  static Vector Add(Vector a, Vector b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Vector Subtract(Vector a, Vector b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static Vector Multiply(Vector a, Vector b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Vector Divide(Vector a, Vector b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  static Vector Max(Vector a, Vector b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Vector Min(Vector a, Vector b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  static Vector MultiplyAdd(Vector a, Vector b, Vector c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Vector ShiftExponent(Vector vector, Vector count) {
    return {ShiftHalf(vector.low, count.low), ShiftHalf(vector.high, count.high)};
  }

 private:
  static __m256 ShiftHalf(__m256 half, __m256 count) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(half),
                                                _mm256_slli_epi32(_mm256_castps_si256(count), 23)));
  }
};

constexpr Kernels kKernels = KernelsOf<Avx2>("AVX2");

}  // namespace

constinit const Kernels* const kCompiledForAvx2 = &kKernels;

}  // namespace kvcast::tinylm

#else

namespace kvcast::tinylm {
constinit const Kernels* const kCompiledForAvx2 = nullptr;
}  // namespace kvcast::tinylm

#endif
