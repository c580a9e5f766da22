// Compiled for AVX-512: nothing in here runs elsewhere, see kernels.cc.
#include "examples/tinylm/inference/kernel_body.h"
#include "examples/tinylm/inference/kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace kvcast::tinylm {
namespace {

struct Avx512 {
  using Vector = __m512;
  // 24 of the 32 registers are sums, 4 the row of a panel.
  static constexpr size_t kTileRows = 6;
  static constexpr size_t kTileVectors = 4;

  static Vector Set(float value) { return _mm512_set1_ps(value); }
  static Vector Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, Vector vector) { _mm512_storeu_ps(to, vector); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector Subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  static Vector Multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector Divide(Vector a, Vector b) { return _mm512_div_ps(a, b); }
  static Vector Max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  static Vector Min(Vector a, Vector b) { return _mm512_min_ps(a, b); }
  static Vector MultiplyAdd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector ShiftExponent(Vector vector, Vector count) {
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(vector),
                                                _mm512_slli_epi32(_mm512_castps_si512(count), 23)));
  }
};

constexpr Kernels kKernels = KernelsOf<Avx512>("AVX-512");

}  // namespace

constinit const Kernels* const kCompiledForAvx512 = &kKernels;

}  // namespace kvcast::tinylm

#else

namespace kvcast::tinylm {
constinit const Kernels* const kCompiledForAvx512 = nullptr;
}  // namespace kvcast::tinylm

#endif
