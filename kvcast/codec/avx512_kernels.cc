#include "kvcast/codec/avx512_rows.h"

#ifdef KVCAST_X86_KERNELS

namespace kvcast {

constexpr Kernels kAvx512Kernels = Avx512KernelsOf<RoundingByHand>("AVX-512");

}  // namespace kvcast

#endif
