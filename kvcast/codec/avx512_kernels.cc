#include "kvcast/codec/simd_target.h"

#ifdef KVCAST_X86_KERNELS

#include <immintrin.h>

#include <array>
#include <cstring>

#include "kvcast/codec/number_format.h"
#include "kvcast/codec/scale_search.h"

KVCAST_AVX512_BEGIN

#include "kvcast/codec/avx512_rows.h"

namespace kvcast {

constexpr Kernels kAvx512Kernels = Avx512KernelsOf<RoundingByHand>("AVX-512");

}  // namespace kvcast

KVCAST_TARGET_END

#endif
