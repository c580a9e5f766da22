#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/paired_matrix.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/simd_products.h"

namespace kvcast {
namespace {

struct Avx512Products {
  using Sums = __m512i;
  static constexpr uint32_t kSums = 16;

  static Sums Zero() { return _mm512_setzero_si512(); }
  static Sums Load(const int16_t* from) { return _mm512_loadu_si512(from); }
  static void Store(uint32_t* to, Sums sums) { _mm512_storeu_si512(to, sums); }
  static Sums Pair(const int16_t* from) {
    int32_t both = 0;
    std::memcpy(&both, from, sizeof(both));
    return _mm512_set1_epi32(both);
  }
  static Sums AddProducts(Sums sums, Sums factors, Sums matrix) {
    return _mm512_dpwssd_epi32(sums, factors, matrix);
  }
};

}  // namespace

void Avx512Multiply(const MatrixProduct& product) { AnyMultiply<Avx512Products, 4>(product); }

}  // namespace kvcast

KVCAST_TARGET_END

#endif
