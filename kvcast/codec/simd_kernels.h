#pragma once

#include "kvcast/codec/kernels.h"

#if defined(__x86_64__)
#define KVCAST_X86_KERNELS 1
#endif

namespace kvcast {

extern const Kernels kScalarKernels;
#ifdef KVCAST_X86_KERNELS
extern const Kernels kAvx2Kernels;    // AVX2 and F16C.
extern const Kernels kAvx512Kernels;  // AVX-512 F, BW, DQ, VL and VBMI.

// Parts of them that have sources of their own.
void Avx2Multiply(const MatrixProduct& product);
void Avx512Multiply(const MatrixProduct& product);
#endif

}  // namespace kvcast
