#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#include "kvcast/codec/paired_matrix.h"

KVCAST_AVX2_BEGIN

#include "kvcast/codec/simd_products.h"

namespace kvcast {
namespace {

struct Avx2Products {
  using Sums = __m256i;
  static constexpr uint32_t kSums = 8;

  static Sums Zero() { return _mm256_setzero_si256(); }
  static Sums Load(const int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void Store(uint32_t* to, Sums sums) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums);
  }
  static Sums Pair(const int16_t* from) {
    int32_t both = 0;
    std::memcpy(&both, from, sizeof(both));
    return _mm256_set1_epi32(both);
  }
  static Sums AddProducts(Sums sums, Sums factors, Sums matrix) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(factors, matrix));
  }
};

}  // namespace

void Avx2Multiply(const MatrixProduct& product) { AnyMultiply<Avx2Products, 4>(product); }

}  // namespace kvcast

KVCAST_TARGET_END

#endif
