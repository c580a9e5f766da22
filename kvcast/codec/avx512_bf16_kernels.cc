#define KVCAST_AVX512_BF16 1
#include "kvcast/codec/avx512_rows.h"

#ifdef KVCAST_X86_KERNELS

KVCAST_AVX512_BEGIN

namespace kvcast {
namespace {

// The same, where the processor rounds as it should: to the nearest, ties to even. It takes
// denormals for zeros, and there are none.
struct RoundingAtOnce {
  static __m512i Bf16(__m512 first, __m512 second) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  }
};

}  // namespace

constexpr Kernels kAvx512Bf16Kernels = Avx512KernelsOf<RoundingAtOnce>("AVX-512 BF16");

}  // namespace kvcast

KVCAST_TARGET_END

#endif
