#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>
#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/scale_search.h"

KVCAST_AVX512_BF16_BEGIN

#include "kvcast/codec/avx512_rows.h"

namespace kvcast {
namespace {

// The same, where the processor rounds as it should: to the nearest, ties to even. It takes
// denormals for zeros, and there are none.
struct RoundingAtOnce {
  static __m512i Bf16(__m512 first, __m512 second) {
    return (__m512i)_mm512_cvtne2ps_pbh(second, first);
  }
};

}  // namespace

constexpr Kernels kAvx512Bf16Kernels = Avx512KernelsOf<RoundingAtOnce>("AVX-512 BF16");

}  // namespace kvcast

KVCAST_TARGET_END

#endif
